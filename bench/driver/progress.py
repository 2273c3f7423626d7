# SPDX-License-Identifier: BSL-1.0
"""Shows the progress of a run: a bar with the time left on a terminal, lines on other outputs."""

import sys
import time


def clock(seconds):
    return f'{int(seconds) // 60}:{int(seconds) % 60:02d}'


class Progress:
    def __init__(self, seconds, out=sys.stderr):
        self.started = time.monotonic()
        self.seconds = seconds
        self.out = out
        self.live = out.isatty()
        self.last_round = None

    def elapsed(self):
        return time.monotonic() - self.started

    def left(self):
        return max(0.0, self.seconds - self.elapsed())

    def step(self, number, what):
        """Shows that round `number` (None: the last one) has reached `what`."""
        number = self.last_round if number is None else number
        if self.live:
            done = min(1.0, self.elapsed() / self.seconds)
            bar = ('#' * round(30 * done)).ljust(30, '.')
            said = '' if number is None else f', round {number + 1}'
            print(f'\r\033[K[{bar}] {clock(self.left())} left{said}: {what}', end='', file=self.out, flush=True)
            self.last_round = number
        elif number != self.last_round:
            self.last_round = number
            print(f'round {number + 1}, at most {clock(self.left())} left', file=self.out, flush=True)

    def say(self, text):
        print(('\r\033[K' if self.live else '') + text, file=self.out, flush=True)
