# SPDX-License-Identifier: BSL-1.0
"""Reads and writes a run's results: one JSON object a line."""

import json
import os


class Results:
    """machine (one), contenders, notes, samples, rows; values: the values and pictures of the papers'
    programs."""

    def __init__(self, machine, contenders, notes, samples, rows, values=()):
        self.machine = machine
        self.contenders = contenders
        self.notes = notes
        self.samples = samples
        self.rows = rows
        self.values = list(values)

    def write(self, path):
        with open(path, 'w', encoding='utf-8') as out:
            for line in [self.machine, *self.contenders, *self.notes, *self.rows, *self.samples, *self.values]:
                print(json.dumps(line, separators=(',', ':')), file=out)

    @staticmethod
    def read(path):
        """Reads rows.jsonl, or the one in a directory."""
        if os.path.isdir(path):
            path = os.path.join(path, 'rows.jsonl')
        kinds = {'machine': [], 'contender': [], 'note': [], 'row': [], 'sample': [], 'value': [], 'picture': []}
        with open(path, encoding='utf-8') as lines:
            for line in lines:
                if line.strip():
                    item = json.loads(line)
                    kinds[item['type']].append(item)
        return Results((kinds['machine'] or [{}])[0], kinds['contender'], kinds['note'], kinds['sample'], kinds['row'],
                       kinds['value'] + kinds['picture'])
