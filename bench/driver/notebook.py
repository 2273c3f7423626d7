# SPDX-License-Identifier: BSL-1.0
"""Reads bench/notebook.md: the limit of each row, and the reason of each row without a target."""

import os
import re

import suites

PATH = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'notebook.md')


def one_line(text):
    return ' '.join(text.split())


def read(text):
    """[(pattern, [limit, what was tried...])], and [(suite or '', pattern, least ranks, most ranks, reason)]."""
    _, limits, untargeted, *_ = re.split(r'^## .*$', text, flags=re.MULTILINE)
    sections = re.split(r'^### `(.*)`$', limits, flags=re.MULTILINE)[1:]
    items = re.findall(r'^\* `([^`]*)` \((?:any suite|suite (\w+)), (\d+) to (\d+) ranks\): (.*(?:\n  .*)*)', untargeted, re.MULTILINE)
    assert len(items) == len(re.findall(r'^\* ', untargeted, re.MULTILINE)), 'an item under "Rows without a target" has another form'
    return ([(pattern, list(map(one_line, re.split(r'^\* ', body, flags=re.MULTILINE)))) for pattern, body in zip(sections[::2], sections[1::2])],
            [(suite, one_line(pattern), int(least), int(most), one_line(why)) for pattern, suite, least, most, why in items])


with open(PATH, encoding='utf-8') as page:
    LIMITS, REASONS = read(page.read())


def limit_of(name):
    """The limit of rows of that name in words, and what was tried; or nothing. The first pattern that matches counts."""
    return next((text for names, text in LIMITS if re.fullmatch(names, name)), [])


def reason_of(suite, name, ranks):
    """The reason why rows of that name have no target, or nothing. The first item that applies counts."""
    return next((why for of, names, least, most, why in REASONS
                 if of in ('', suite) and least <= ranks <= most and re.fullmatch(names, name)), '')


def why_untargeted(row, name):
    """The reason why this row is not judged, or nothing if it is, or if nobody knows."""
    judged = (row['to_raw'] and row['target_raw']) or (row['ahead'] and row['target_ahead'])
    if judged:
        return ''
    if row['ours'] is None:
        return 'Ours took no part in this run, so there is nothing to judge.'
    target = suites.target_of(name, row['ranks'])
    apart = 'Its target is beside {}, which never ran in the same round and placement of the cores.'
    if target.raw or target.ahead:
        if target.ahead and row['peers']:
            return apart.format('other libraries')
        if target.raw and row['raw']:
            return apart.format('code by hand')
        return f"Its target is beside {'other libraries' if target.ahead else 'code by hand'}, and none of that ran this row."
    return reason_of(row['suite'], name, row['ranks'])
