# SPDX-License-Identifier: BSL-1.0
"""Keeps what each run said about each row, so that the page shows how a row has changed.

The file history.jsonl lies beside rows.jsonl and has a line for each run: its date, its commit, and for each row
the median of ours and both ratios. A run that is judged again replaces its line.
"""

import json
import os

import judge

NAME = 'history.jsonl'
MOST = 60  # runs that are kept


def name_of(row, placement=None):
    return f"{row['suite']}: {judge.name_of(row)}, {row['ranks']}, {placement or row['placement']}"


def entry(results):
    """One run in short."""
    def short(item):
        return item and [round(item[k], 4) for k in ('ratio', 'low', 'high') if item[k] != float('inf')]

    rows = {name_of(row): [row['ours']['median'], short(row['to_raw']), short(row['ahead']), row['verdict']]
            for row in results.rows if row['ours']}
    return {'date': results.machine.get('date'), 'commit': results.machine.get('commit'), 'rows': rows}


def read(directory):
    path = os.path.join(directory, NAME)
    if not os.path.exists(path):
        return []
    with open(path, encoding='utf-8') as lines:
        return [json.loads(line) for line in lines if line.strip()]


def add(results, directory):
    """Appends the run, and returns all runs, the oldest first."""
    now = entry(results)
    runs = [run for run in read(directory) if (run['date'], run['commit']) != (now['date'], now['commit'])]
    runs = sorted([*runs, now], key=lambda run: run['date'] or '')[-MOST:]
    with open(os.path.join(directory, NAME), 'w', encoding='utf-8') as out:
        out.writelines(json.dumps(run, separators=(',', ':')) + '\n' for run in runs)
    return runs


def of(row, runs):
    """[(date, commit, placement if it is another one, median, times by hand or None, times ahead or None, verdict)] of
    one row, the oldest first."""
    found = []
    places = [row['placement'], *(p for p in ('near', 'far', '-') if p != row['placement'])]
    for run in runs:
        there = next((p for p in places if name_of(row, p) in run['rows']), None)
        if there:
            said = run['rows'][name_of(row, there)]
            found.append((run['date'], run['commit'], '' if there == row['placement'] else there, said[0],
                          said[1] and said[1][0], said[2] and said[2][0], said[3]))
    return found
