# SPDX-License-Identifier: BSL-1.0
"""Compares our values with a paper: the printed numbers within 25 % of ours, and the claims that hold for
ours."""

import csv
import os
from dataclasses import dataclass, field

import judge
import papers


@dataclass(frozen=True)
class Printed:
    """A number that a paper prints."""

    series: str
    x: object
    quantity: str
    value: float
    unit: str
    kind: str
    source: str

    def key(self):
        return (self.series, self.x, self.quantity)


@dataclass
class Compared:
    printed: Printed
    ours: float  # None: no program has printed it
    cause: str = ''  # of a miss, if it is known

    def counts(self):
        return self.printed.kind == 'printed'

    def ratio(self):
        return None if self.ours is None else self.ours / self.printed.value

    def holds(self):
        return self.ours is not None and abs(self.ratio() - 1) <= papers.WITHIN


@dataclass
class Tried:
    claim: papers.Claim
    holds: bool  # None: a value that it needs is missing
    missing: str = ''


@dataclass
class Reproduction:
    """One figure: the paper's numbers beside ours, and the verdicts on its claims."""

    figure: papers.Figure
    values: dict  # (series, x, quantity) -> ours
    units: dict  # quantity -> unit
    parameters: list  # the sets of timing parameters, of which there must be one
    compared: list = field(default_factory=list)
    claims: list = field(default_factory=list)

    def counted(self):
        return [c for c in self.compared if c.counts()]

    def text(self):
        """Our result in a sentence."""
        counted = self.counted()
        parts = []
        if counted:
            within = sum(c.holds() for c in counted)
            parts.append(f'{within} of {len(counted)} printed values lie within {papers.WITHIN:.0%}')
        tried = [t for t in self.claims if t.holds is not None]
        if tried:
            parts.append(f'{sum(t.holds for t in tried)} of {len(tried)} claims hold')
        untold = len(self.claims) - len(tried)
        if untold:
            parts.append(f'{untold} could not be tried')
        return ('; '.join(parts) or 'nothing was measured') + '.'


def number(text):
    """x as a number if it is one, else the text."""
    try:
        value = float(text)
    except (TypeError, ValueError):
        return text
    return int(value) if value.is_integer() else value


def read(directory, name):
    """[Printed] of a figure."""
    path = os.path.join(directory, name + '.csv')
    if not os.path.exists(path):
        return []
    with open(path, encoding='utf-8', newline='') as file:
        return [Printed(r['series'], number(r['x']), r['quantity'], float(r['value']), r['unit'], r['kind'], r['source'])
                for r in csv.DictReader(file)]


def try_claim(claim, values):
    def v(series, x, quantity):
        if (series, x, quantity) not in values:
            raise papers.Missing(f'{series}, {x}, {quantity}')
        return values[series, x, quantity]

    try:
        return Tried(claim, bool(claim.holds(v)))
    except papers.Missing as missing:
        return Tried(claim, None, str(missing))


def cause_of(figure, printed):
    return next((c.why for c in papers.CAUSES if c.fits(figure.name, *printed.key())), 'not known yet')


def reproduce(figure, printed, said):
    """`said`: lines of values; values of other figures are ignored."""
    mine = [line for line in said if line['figure'] == figure.name]
    values = {(line['series'], number(line['x']), line['quantity']): line['value'] for line in mine}
    units = {line['quantity']: line['unit'] for line in mine}
    result = Reproduction(figure, values, {**{p.quantity: p.unit for p in printed}, **units},
                          sorted({line['parameters'] for line in mine}))
    for p in printed:
        compared = Compared(p, values.get(p.key()))
        if compared.counts() and not compared.holds():
            compared.cause = cause_of(figure, p) if compared.ours is not None else 'no program has said it'
        result.compared.append(compared)
    result.claims = [try_claim(claim, values) for claim in figure.claims]
    return result


def values_of_rows(rows):
    """The rows of other suites for foMPI's functions: ours and the peers', in real time."""
    for row in rows:
        x = papers.FOMPI_ROWS.get((judge.name_of(row), row['ranks']))
        if x is None:
            continue
        for name, times in [('pgas', row['ours']), *sorted(row['peers'].items())]:
            if times:
                yield {'type': 'value', 'figure': 'fompi', 'series': name, 'x': x, 'quantity': 'time',
                       'value': times['median'] * 1e6, 'unit': 'us', 'parameters': 'real time, this machine'}


def reproduce_all(directory, said):
    """[Reproduction] of the figures that have values."""
    names = {line['figure'] for line in said}
    return [reproduce(f, read(directory, f.name), said) for f in papers.FIGURES if f.name in names]


def summary(all_of_them):
    """The lines that `tools/bench --suite papers` prints."""
    counted = [c for r in all_of_them for c in r.counted()]
    tried = [t for r in all_of_them for t in r.claims]
    head = f"{'':14} {'values':>7} {'within':>7} {'claims':>7} {'hold':>5}"
    yield head
    for r in all_of_them:
        yield f"{r.figure.name:14} {len(r.counted()):7} {sum(c.holds() for c in r.counted()):7} {len(r.claims):7} " \
              f"{sum(bool(t.holds) for t in r.claims):5}"
    share = sum(c.holds() for c in counted) / len(counted) if counted else 0
    yield f'{sum(c.holds() for c in counted)} of {len(counted)} printed values lie within {papers.WITHIN:.0%} ({share:.0%}); ' + \
        ', '.join(f'{sum(bool(t.holds) for t in tried if t.claim.kind == kind)} of {sum(t.claim.kind == kind for t in tried)} '
                  f'{plural} hold' for kind, plural in (('ordering', 'orderings'), ('crossing', 'crossings'), ('shape', 'shapes')))
    for r in all_of_them:
        if len(r.parameters) > 1:
            yield f"  MIXED {r.figure.name}: {', '.join(r.parameters)}"
        for c in r.counted():
            if not c.holds():
                got = f'{c.ours:.4g} {c.printed.unit}, {c.ratio():.2f} times' if c.ours is not None else 'nothing'
                yield f'  MISS {r.figure.name}: {where(r.figure, c.printed)}: {c.printed.value:g} {c.printed.unit}; ours {got}: {c.cause}'
        for t in r.claims:
            if not t.holds:
                why = f'missing: {t.missing}' if t.missing else t.claim.why or 'not known yet'
                yield f"  MISS {r.figure.name}: {t.claim.text}: {why}"


def where(figure, printed):
    return f'{printed.series}, {figure.name_of(printed.x)}, {printed.quantity}'
