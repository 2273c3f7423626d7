# SPDX-License-Identifier: BSL-1.0
"""Says which program runs next: all in a few whole rounds, then the one that may decide the most verdicts in a
second."""

from dataclasses import dataclass, field

import judge

# The number of rounds in which ours measures all rows, of parts that are not dear.
SURE_FROM = 3
# After one round, another library goes on in the rows where its shortest time is at most so many times the best median.
NEAR_AT_FIRST = 2
# The least that a row with an open verdict counts, however far from its end it seems.
LEAST_HOPE = 0.1
# The seconds that a program takes besides its rows.
START = 1


@dataclass
class Contest:
    """A part for one number of ranks, with what it has cost so far."""

    suite: str
    part: object
    ranks: int
    number: int = 0  # rounds so far
    rows: int = 1  # of ours in a whole round
    whole: float = 0  # seconds of the last whole round
    again: list = field(default_factory=list)  # seconds of each turn of open rows

    def sure_from(self):
        sure = self.part.sure or SURE_FROM
        return min(sure, self.part.rounds or sure)

    def may_go_on(self, most):
        return 0 < self.number < (self.part.rounds or most)

    def price(self, count):
        """The seconds that so many rows will take."""
        if self.again:
            return self.again[-1]
        return START + self.whole * (min(1.0, count / self.rows) if self.part.style == 'meter' else 1)

    def worth(self, rows):
        """The verdicts that a second may bring. It falls with each turn, so that all programs have turns."""
        hopes = sum(max(LEAST_HOPE, *(judge.hope(row, side) for side in sides)) for row, sides in rows.values())
        return hopes / self.price(len(rows)) / (1 + len(self.again))


def contests_of(parts):
    return [Contest(suite, part, ranks) for suite, part in parts for ranks in part.ranks]


def peers_needed(rows, number):
    """{name: other libraries that a whole round measures in that row}. None: all in all rows. First all run once.
    Then those that may be the quickest run where ours must be ahead, and then where that is open."""
    if number == 0:
        return None
    needed = {}
    for row in rows:
        if number == 1 and row['target_ahead'] and row['ours']:
            needed[judge.name_of(row)] = judge.near_the_best(row, NEAR_AT_FIRST, 'lowest')
        elif number > 1 and 'ahead' in judge.open_sides(row, far=True):
            needed[judge.name_of(row)] = judge.near_the_best(row)
    return needed


def choose(contests, open_of, left, most):
    """(contest, its rows with an open verdict) of the greatest worth that takes at most `left` seconds, or
    nothing."""
    best = None
    for contest in contests:
        rows = open_of(contest) if contest.may_go_on(most) else {}
        if rows and contest.price(len(rows)) <= left:
            worth = contest.worth(rows)
            if best is None or worth > best[0]:
                best = worth, contest, rows
    return best and best[1:]
