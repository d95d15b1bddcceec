"""Four layers of checks of the CUDA backend, none of which needs a GPU (docs/cuda.md says what they cannot show).

``standin/`` replaces CuPy in the whole process; it is run by `test_standin.py` in a process of its own.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # shim, compilation, strict_cupy

collect_ignore = [] if os.environ.get("MINITORCH_STRICT_CUPY") else ["standin"]
