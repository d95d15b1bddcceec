"""``torch.utils.benchmark``: times of small programs that can be compared.

`Timer` runs a statement and returns a `Measurement`; `Compare` lays several out as a table. Counting instructions
(``collect_callgrind``) and the fuzzers are left out.
"""

from minitorch.utils.benchmark.compare import Colorize, Compare
from minitorch.utils.benchmark.measurement import Measurement, TaskSpec, select_unit, trim_sigfig, unit_to_english
from minitorch.utils.benchmark.timer import Language, Timer, timer

__all__ = [
    "Colorize", "Compare", "Language", "Measurement", "TaskSpec", "Timer", "select_unit", "timer", "trim_sigfig",
    "unit_to_english",
]  # fmt: skip
