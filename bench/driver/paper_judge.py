# SPDX-License-Identifier: BSL-1.0
"""Compares our values with a paper: the printed numbers within 25 % of ours, the effects that are as strong,
and the claims that hold for ours. Values, effects and claims are counted by their classes, which are never
added."""

import csv
import os
from dataclasses import dataclass, field

import judge
import paper_model
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
    basis: str = ''

    def key(self):
        return (self.series, self.x, self.quantity)


@dataclass
class Compared:
    printed: Printed
    ours: float  # None: no program has printed it
    cause: str = ''  # of a miss, if it is known

    def counts(self):
        """True if ours is compared with it."""
        return self.printed.kind in papers.CLASSES_OF_VALUES

    def ratio(self):
        return None if self.ours is None else self.ours / self.printed.value

    def holds(self):
        return self.ours is not None and abs(self.ratio() - 1) <= papers.WITHIN


@dataclass
class Tried:
    claim: papers.Claim
    holds: bool  # None: a value that it needs is missing
    missing: str = ''
    why: str = ''  # the suspected cause if it does not hold
    real_time: bool = False

    def kind(self):
        """The class: a prediction, a consequence, or apart: about the machine at hand, or about our own
        protocols."""
        return 'this machine' if self.real_time else 'ours' if self.claim.kind == 'ours' else 'consequence' if self.claim.basis else 'prediction'


@dataclass
class Measured:
    """An effect: the paper's number, and ours."""

    effect: papers.Effect
    printed: object
    ours: float  # None: a value that it needs is missing
    missing: str = ''
    why: str = ''

    def kind(self):
        return 'consequence' if self.effect.basis else 'prediction'

    def strength(self):
        """Our change over the paper's; None for a crossing."""
        if self.ours is None or self.effect.kind == 'crossing':
            return None
        none = 1 if self.effect.kind == 'ratio' else 0
        return (self.ours - none) / (self.printed - none)

    def holds(self):
        if self.ours is None:
            return None
        if self.effect.kind == 'crossing':
            return self.printed[0] <= self.ours < self.printed[1]
        return abs(self.strength() - 1) <= papers.WITHIN

    def in_words(self):
        """The paper's number, and ours."""
        ours = 'nothing' if self.ours is None else f'{self.ours:.3g}'
        if self.effect.kind == 'crossing':
            return f'between {self.printed[0]} and {self.printed[1]}', ours
        return f'{self.printed:.3g}', ours


@dataclass(frozen=True)
class Scored:
    """A reading of an unclear text: the printed values within 25 % of ours under it."""

    reading: paper_model.Reading
    within: int
    of: int


@dataclass
class Reproduction:
    """One figure: the paper's numbers beside ours, and the verdicts on its claims."""

    figure: papers.Figure
    values: dict  # (series, x, quantity) -> ours
    units: dict  # quantity -> unit
    parameters: list  # the sets of timing parameters, of which there must be one
    compared: list = field(default_factory=list)
    claims: list = field(default_factory=list)
    effects: list = field(default_factory=list)
    readings: list = field(default_factory=list)

    def counted(self, kind=None):
        """The values of a class; of all three without one."""
        return [c for c in self.compared if c.counts() and kind in (None, c.printed.kind)]

    def claims_of(self, kind):
        return [t for t in self.claims if t.kind() == kind]

    def effects_of(self, kind):
        return [e for e in self.effects if e.kind() == kind]

    def missed_headlines(self):
        """The effects of the paper's summary that ours does not have."""
        return [e for e in self.effects if e.effect.is_headline and e.holds() is False]

    def by_other_set(self, key):
        """Our value by the other set of timing parameters."""
        series, x, quantity = key
        return self.values.get((series, x, f'{quantity} by {self.figure.other_set}'))

    def sixth(self):
        """Of a figure of the sixth source: (values, within 25 % by the set fitted to it, by the other set)."""
        all_of_it = [c for c in self.compared if c.printed.kind == 'other source']
        others = [self.by_other_set(c.printed.key()) for c in all_of_it]
        return len(all_of_it), sum(c.holds() for c in all_of_it), \
            sum(o is not None and abs(o / c.printed.value - 1) <= papers.WITHIN for c, o in zip(all_of_it, others))

    def text(self):
        """Our result in a sentence for each class that the figure has."""
        parts = []
        for kind in papers.CLASSES_OF_VALUES[:2]:
            counted, effects, claims = self.counted(kind), self.effects_of(kind), self.claims_of(kind)
            said = [f'{sum(c.holds() for c in counted)} of {len(counted)} printed values lie within {papers.WITHIN:.0%}'] if counted else []
            said += [f'{sum(bool(e.holds()) for e in effects)} of {len(effects)} effects are as strong'] if effects else []
            said += [f'{sum(bool(t.holds) for t in claims)} of {len(claims)} claims hold'] if claims else []
            if said:
                parts.append(f'{kind}s: {", ".join(said)}')
        for kind, name in (('ours', 'our own protocols'), ('this machine', 'in real time on this machine')):
            apart = self.claims_of(kind)
            if apart:
                parts.append(f'{name}: {sum(bool(t.holds) for t in apart)} of {len(apart)} statements hold')
        values, fitted, other = self.sixth()
        if values:
            parts.append(f'{fitted} of {values} values lie within {papers.WITHIN:.0%} by the set of parameters that was fitted to them, '
                         f'{other} by {self.figure.other_set}')
        return ('; '.join(parts) or 'nothing is compared') + '.'


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
        return [Printed(r['series'], number(r['x']), r['quantity'], float(r['value']), r['unit'], r['kind'], r['source'], r['basis'])
                for r in csv.DictReader(file)]


def looking_up(values):
    """v(series, x, quantity), which raises Missing."""
    def v(series, x, quantity):
        if (series, x, quantity) not in values:
            raise papers.Missing(f'{series}, {x}, {quantity}')
        return values[series, x, quantity]
    return v


def try_claim(claim, values, real_time=False):
    v = looking_up(values)
    try:
        holds = bool(claim.holds(v))
    except papers.Missing as missing:
        return Tried(claim, None, str(missing), real_time=real_time)
    return Tried(claim, holds, '', '' if holds else papers.told(claim.why, v) or 'not known yet', real_time)


def measure(effect, printed, values):
    """`printed`: the paper's values, like `values`."""
    papers_own = effect.printed
    if papers_own is None:
        papers_own = effect.measure(looking_up(printed))
    v = looking_up(values)
    try:
        got = Measured(effect, papers_own, effect.measure(v))
    except papers.Missing as missing:
        return Measured(effect, papers_own, None, str(missing))
    if not got.holds():
        got.why = papers.told(effect.why, v) or 'not known yet'
    return got


def score(reading, printed, values):
    mine = [p for p in printed if p.series == reading.of and p.kind in papers.CLASSES_OF_VALUES]
    ours = [values.get((reading.series, p.x, p.quantity)) for p in mine]
    return Scored(reading, sum(o is not None and abs(o / p.value - 1) <= papers.WITHIN for o, p in zip(ours, mine)), len(mine))


def cause_of(figure, printed, values):
    return next((papers.told(c.why, looking_up(values)) for c in papers.CAUSES if c.fits(figure.name, *printed.key())),
                'not known yet')


def reproduce(figure, printed, said):
    """`said`: lines of values; values of other figures are ignored."""
    mine = [line for line in said if line['figure'] == figure.name]
    values = {(line['series'], number(line['x']), line['quantity']): line['value'] for line in mine}
    units = {line['quantity']: line['unit'] for line in mine}
    result = Reproduction(figure, values, {**{p.quantity: p.unit for p in printed}, **units},
                          sorted({line['parameters'] for line in mine if line['parameters'] != figure.other_set}))
    for p in printed:
        compared = Compared(p, values.get(p.key()))
        if compared.counts() and not compared.holds():
            compared.cause = cause_of(figure, p, values) if compared.ours is not None else 'no program has said it'
        result.compared.append(compared)
    result.claims = [try_claim(claim, values, figure.real_time) for claim in figure.claims]
    own = {p.key(): p.value for p in printed}
    result.effects = [measure(effect, own, values) for effect in figure.effects]
    result.readings = [score(r, printed, values) for r in paper_model.READINGS if r.figure == figure.name]
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


def total(all_of_them, kind):
    """Of a class, in all figures: (values within, values), (effects as strong, effects), (claims that hold, claims)."""
    counted = [c for r in all_of_them for c in r.counted(kind)]
    effects = [e for r in all_of_them for e in r.effects_of(kind)]
    claims = [t for r in all_of_them for t in r.claims_of(kind)]
    return (sum(c.holds() for c in counted), len(counted)), (sum(bool(e.holds()) for e in effects), len(effects)), \
        (sum(bool(t.holds) for t in claims), len(claims))


def sixth(all_of_them):
    """The same figures of all of them: values of the sixth source, within by the set fitted to it, by the other set."""
    return [sum(numbers) for numbers in zip(*(r.sixth() for r in all_of_them))] or [0, 0, 0]


def summary(all_of_them):
    """The lines that `tools/bench --suite papers` prints: the predictions first."""
    yield f"{'predictions':14} {'values':>7} {'within':>7} {'effects':>8} {'as strong':>10} {'claims':>7} {'hold':>5}"
    for r in all_of_them:
        values, effects, claims = total([r], 'prediction')
        if values[1] + effects[1] + claims[1]:
            yield f'{r.figure.name:14} {values[1]:7} {values[0]:7} {effects[1]:8} {effects[0]:10} {claims[1]:7} {claims[0]:5}'
    for kind in papers.CLASSES_OF_VALUES[:2]:
        values, effects, claims = total(all_of_them, kind)
        yield f'{kind}s: {values[0]} of {values[1]} printed values lie within {papers.WITHIN:.0%}; {effects[0]} of {effects[1]} effects are ' \
              f'as strong as the paper\'s; {claims[0]} of {claims[1]} claims hold'
    yield f"calibrations: {total(all_of_them, 'calibration')[0][1]} printed values set a constant; they prove nothing"
    values, fitted, other = sixth(all_of_them)
    if values:
        yield f'sixth source: {fitted} of {values} values lie within {papers.WITHIN:.0%} by the set of parameters that was fitted to it, ' \
              f'{other} by the set of all other figures'
    for r in all_of_them:
        for e in r.missed_headlines():
            yield f'HEADLINE MISSED {r.figure.name}: {told_plainly(e)}'
    for kind, name in (('ours', 'our own protocols'), ('this machine', 'in real time on this machine')):
        apart = [t for r in all_of_them for t in r.claims_of(kind)]
        yield f'{name}: {sum(bool(t.holds) for t in apart)} of {len(apart)} statements hold'
    for r in all_of_them:
        if len(r.parameters) > 1:
            yield f"  MIXED {r.figure.name}: {', '.join(r.parameters)}"
        for c in r.counted():
            if not c.holds():
                got = f'{c.ours:.4g} {c.printed.unit}, {c.ratio():.2f} times' if c.ours is not None else 'nothing'
                yield f'  MISS {c.printed.kind} {r.figure.name}: {where(r.figure, c.printed)}: {c.printed.value:g} {c.printed.unit}; ours {got}: {c.cause}'
        for e in r.effects:
            if not e.holds():
                theirs, ours = e.in_words()
                yield f'  MISS effect {r.figure.name}: {e.effect.text}: {theirs}; ours {ours}: ' + (f'missing: {e.missing}' if e.missing else e.why)
        for t in r.claims:
            if not t.holds:
                yield f'  MISS claim {r.figure.name}: {t.claim.text}: ' + (f'missing: {t.missing}' if t.missing else t.why)


def told_plainly(effect):
    theirs, ours = effect.in_words()
    return f'{effect.effect.text} is {theirs} in the paper and {ours} here'


def where(figure, printed):
    return f'{printed.series}, {figure.name_of(printed.x)}, {printed.quantity}'
