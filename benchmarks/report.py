"""Measure minitorch beside NumPy and torch, and write a report that a person can read.

    python benchmarks/report.py --out DIR [--quick] [--threads N]

Writes ``report.md``, ``report.json`` and (with matplotlib) ``report.png`` into DIR, and prints a
summary.  Without torch its columns stay empty.  See ``benchmarks/README.md``.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import math
import os
import platform
import subprocess
import sys
import tempfile
import time
import timeit
from pathlib import Path

# One thread unless asked otherwise, for all libraries; set before NumPy loads its BLAS.
THREADS = sys.argv[sys.argv.index("--threads") + 1] if "--threads" in sys.argv[:-1] else "1"
for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_variable] = THREADS

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
HERE = str(Path(__file__).resolve().parent)

# label, statement on tensors, the same on NumPy arrays.  x, y, z: float32 matrices; m: mask; i: int64
# indices; p: as x, requiring grad; t: minitorch or torch; F: its nn.functional.
STATEMENTS = [
    ("x + y", "x + y", "x + y"),
    ("x * 1.5", "x * 1.5", "x * np.float32(1.5)"),
    ("x / y", "x / y", "x / y"),
    ("exp", "x.exp()", "np.exp(x)"),
    ("tanh", "t.tanh(x)", "np.tanh(x)"),
    ("relu", "t.relu(x)", "np.maximum(x, 0)"),
    ("x > y", "x > y", "x > y"),
    ("where", "t.where(m, x, y)", "np.where(m, x, y)"),
    ("sum", "x.sum()", "x.sum()"),
    ("sum over a dim", "x.sum(1)", "x.sum(1)"),
    ("mean", "x.mean()", "x.mean()"),
    ("max over a dim", "x.max(1)", "(x.max(1), x.argmax(1))"),
    ("softmax", "F.softmax(x, 1)", None),
    ("layer_norm", "F.layer_norm(x, (n,))", None),
    ("gelu", "F.gelu(x)", None),
    ("matmul", "x @ z", "x @ z"),
    ("view", "x.view(-1)", "x.reshape(-1)"),
    ("transpose", "x.t()", "x.T"),
    ("x[0]", "x[0]", "x[0]"),
    ("x[:, 1:]", "x[:, 1:]", "x[:, 1:]"),
    ("index with a tensor", "x[i]", "x[i]"),
    ("cat", "t.cat([x, y])", "np.concatenate([x, y])"),
    ("clone", "x.clone()", "x.copy()"),
    ("cast to float64", "x.to(t.float64)", "x.astype(np.float64)"),
    ("in-place add", "w.add_(x)", "np.add(w, x, out=w)"),
    ("zeros", "t.zeros(n, n)", "np.zeros((n, n), np.float32)"),
    ("sort", "x.sort(1)", "(np.sort(x, 1), np.argsort(x, 1))"),
    ("item", "s.item()", "s.item()"),
    ("x * y, recorded", "p * y", None),
    ("matmul, recorded", "p @ z", None),
    ("forward and backward", "((p * y + x).tanh().sum()).backward()", None),
]
SIZES = {"tiny": 2, "medium": 256}

# label, statement on tensors: each adds something to the one before.
HOPS = [
    ("NumPy's own function", "np.negative(a)", ("numpy",)),
    ("inference tensor: backend only", "u.neg()", ("minitorch", "torch")),
    ("tensor: autograd has nothing to record", "x.neg()", ("minitorch", "torch")),
    ("requires grad: recorded, two hops", "p.neg()", ("minitorch", "torch")),
    ("a composite operator of a library that calls neg", "composite(x)", ("minitorch", "torch")),
    ("neg through a Python fallback of a mode", "in_mode()", ("minitorch",)),
]


def has(name: str) -> bool:
    return importlib.util.find_spec(name) is not None


def load(name: str):
    """Return a tensor library, running on the threads asked for."""
    module = importlib.import_module(name)
    for part in ("library", "nn", "nn.functional", "optim"):
        importlib.import_module(f"{name}.{part}")
    if hasattr(module, "set_num_threads"):
        module.set_num_threads(int(THREADS))
    return module


# -- eager operators -----------------------------------------------------------------------


def arrays(n: int) -> dict:
    """Return the values of the statements' names."""
    rng = np.random.default_rng(0)

    def matrix():
        return rng.standard_normal((n, n)).astype(np.float32)

    return {
        "x": matrix(), "y": np.abs(matrix()) + 0.5, "z": matrix(), "w": matrix(), "m": matrix() > 0,
        "i": rng.integers(0, n, n), "s": np.asarray(1.5, np.float32),
    }  # fmt: skip


def environment(name: str, n: int) -> dict:
    """Return the names that a library's statements see."""
    values = arrays(n)
    if name == "numpy":
        return {**values, "np": np, "n": n}
    t = load(name)
    tensors = {key: t.from_numpy(np.array(value)) for key, value in values.items()}
    with t.inference_mode():
        u = tensors["x"].clone()
    p = tensors["x"].clone().requires_grad_()
    return {**tensors, "t": t, "F": t.nn.functional, "n": n, "p": p, "u": u, "np": np, "a": values["x"]}


def best_of(timers: dict[str, timeit.Timer], rounds: int, budget: float) -> dict[str, float]:
    """Return the best time of each statement in nanoseconds; they take turns."""
    number, best = {}, {}
    for key, timer in timers.items():
        timer.timeit(2)
        once = min(timer.repeat(3, 1))
        number[key] = max(1, int(budget / max(once, 1e-7)))
        best[key] = math.inf
    for _ in range(rounds):
        for key, timer in timers.items():
            best[key] = min(best[key], timer.timeit(number[key]) / number[key] * 1e9)
    return best


def eager(libraries: list[str], sizes: list[str], rounds: int, budget: float) -> list[dict]:
    """Return rows: label, size, and nanoseconds by library."""
    rows = []
    for size in sizes:
        environments = {name: environment(name, SIZES[size]) for name in libraries}
        for label, statement, numpy_statement in STATEMENTS:
            timers = {
                name: timeit.Timer(numpy_statement if name == "numpy" else statement, globals=env)
                for name, env in environments.items()
                if name != "numpy" or numpy_statement
            }
            rows.append({"label": label, "size": size, **best_of(timers, rounds, budget)})
    return rows


def hops(libraries: list[str], rounds: int, budget: float) -> list[dict]:
    """Return rows: what a call goes through, and nanoseconds by library."""
    environments = {name: environment(name, 2) for name in libraries if name != "numpy"}
    environments["numpy"] = {"np": np, "a": arrays(2)["x"]}
    for name in set(environments) - {"numpy"}:
        environments[name]["library"], environments[name]["composite"] = composite_operator(environments[name]["t"])
    if "minitorch" in environments:
        environments["minitorch"]["in_mode"] = call_in_mode(environments["minitorch"]["x"])
    rows = []
    for label, statement, names in HOPS:
        timers = {
            name: timeit.Timer(statement, globals=environments[name]) for name in names if name in environments
        }
        rows.append({"label": label, **best_of(timers, rounds, budget)})
    return rows


def composite_operator(t) -> tuple:
    """Return a library that defines an operator written with ``neg``, and the operator."""
    library = t.library.Library("minitorch_report", "DEF")
    library.define("composite(Tensor x) -> Tensor")
    library.impl("composite", lambda x: x.neg(), "CompositeImplicitAutograd")
    return library, t.ops.minitorch_report.composite.default


def call_in_mode(x):
    """Return a function that calls ``neg`` with a mode on, whose fallback passes each call on."""
    import minitorch
    from minitorch.dispatch.keys import parse_key
    from minitorch.dispatch.local_state import ExcludeKeysGuard, IncludeKeysGuard

    key = parse_key("TESTING_ONLY_GenericMode")
    library = minitorch.library.Library("_", "IMPL")

    def pass_on(op, *args, **kwargs):
        with ExcludeKeysGuard(key):
            return op(*args, **kwargs)

    library.fallback(pass_on, key)

    def call():
        with IncludeKeysGuard(key):
            return x.neg()

    call.library = library  # its registrations live as long as it does
    return call


# -- training steps ------------------------------------------------------------------------


def mlp(t):
    nn = t.nn
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 10))
    return model, t.optim.Adam(model.parameters(), lr=1e-3), t.randn(32, 64), t.randint(0, 10, (32,))


def cnn(t):
    nn = t.nn
    model = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(32 * 49, 10),
    )  # fmt: skip
    optimizer = t.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    return model, optimizer, t.randn(32, 1, 28, 28), t.randint(0, 10, (32,))


def small_gpt(t, width=64, heads=4, layers=2, length=32, vocabulary=65):
    nn, F = t.nn, t.nn.functional

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x):
            b, n, c = x.shape
            q, k, v = (
                part.view(b, n, heads, c // heads).transpose(1, 2) for part in self.qkv(self.norm1(x)).split(c, dim=2)
            )
            a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(a.transpose(1, 2).reshape(b, n, c))
            return x + self.down(F.gelu(self.up(self.norm2(x))))

    class GPT(nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens, self.places = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
            self.blocks = nn.Sequential(*[Block() for _ in range(layers)])
            self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary)

        def forward(self, ids):
            x = self.tokens(ids) + self.places(t.arange(ids.shape[1]))
            return self.head(self.norm(self.blocks(x))).flatten(0, 1)

    model = GPT()
    ids = t.randint(0, vocabulary, (8, length))
    return model, t.optim.AdamW(model.parameters(), lr=1e-3), ids, t.randint(0, vocabulary, (8 * length,))


WORKLOADS = {"MLP, Adam": mlp, "CNN, SGD": cnn, "small GPT, AdamW": small_gpt}


def stepper(name: str, workload):
    """Return a function that makes one training step and returns the loss."""
    t = load(name)
    t.manual_seed(0)  # the same initial weights and data in minitorch and torch
    model, optimizer, inputs, target = workload(t)

    def step():
        optimizer.zero_grad()
        loss = t.nn.functional.cross_entropy(model(inputs), target)
        loss.backward()
        optimizer.step()
        return loss

    return step


def training(libraries: list[str], rounds: int, budget: float) -> list[dict]:
    """Return rows: workload, nanoseconds a step by library, and how far the losses lie apart."""
    rows = []
    for label, workload in WORKLOADS.items():
        steps = {name: stepper(name, workload) for name in libraries if name != "numpy"}
        losses = {name: [step().item() for _ in range(5)] for name, step in steps.items()}
        gap = None
        if len(losses) == 2:
            gap = max(abs(a - b) for a, b in zip(*losses.values(), strict=True))
        times = best_of({name: timeit.Timer(step) for name, step in steps.items()}, rounds, budget)
        rows.append({"label": label, **times, "loss_gap": gap})
    return rows


# -- processes -----------------------------------------------------------------------------

_IMPORT = """
import sys, time
start = time.perf_counter()
import {module}
seconds = time.perf_counter() - start
sys.path.insert(0, {here!r})
from report import peak_memory
print(seconds, peak_memory())
"""


def peak_memory() -> int:
    """Return the most bytes that this process has had in memory."""
    # Linux's ru_maxrss begins with what the parent process had, so it is of use elsewhere only.
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def run_python(arguments: list[str], interpreted: bool = False, variables: dict | None = None) -> str:
    """Return what a Python process prints."""
    variables = {**os.environ, **(variables or {}), "MINITORCH_INTERPRETED": "1" if interpreted else "0"}
    variables["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), variables.get("PYTHONPATH")]))
    done = subprocess.run([sys.executable, *arguments], env=variables, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{arguments[0]} failed:\n{done.stderr}")
    return done.stdout


def imports(libraries: list[str], rounds: int) -> list[dict]:
    """Return rows: library, best import time in seconds and peak memory in bytes after it."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:  # bytecode, whatever the environment says about writing it
        cache = {"PYTHONPYCACHEPREFIX": folder, "PYTHONDONTWRITEBYTECODE": ""}
        for name in libraries:
            for interpreted in (False, True) if name == "minitorch" else (False,):
                command = ["-c", _IMPORT.format(module=name, here=HERE)]
                found = [run_python(command, interpreted, cache).split() for _ in range(rounds + 1)][1:]
                rows.append(
                    {
                        "label": name + ", interpreted" * interpreted,
                        "seconds": min(float(seconds) for seconds, _ in found),
                        "bytes": min(float(size) for _, size in found),
                    }
                )
    return rows


def training_memory(libraries: list[str]) -> list[dict]:
    """Return rows: library, workload, peak memory in bytes of a process that makes ten steps."""
    return [
        {"label": label, "library": name, "bytes": float(run_python([__file__, "--worker", f"memory:{name}:{label}"]))}
        for label in WORKLOADS
        for name in libraries
        if name != "numpy"
    ]


def work(task: str, rounds: int, budget: float) -> None:
    """Do a part of the report in this process, and print it as JSON."""
    kind, _, rest = task.partition(":")
    if kind == "eager":
        print(json.dumps(eager(["minitorch"], rest.split(","), rounds, budget)))
        return
    name, _, label = rest.partition(":")
    step = stepper(name, WORKLOADS[label])
    for _ in range(10):
        step()
    print(peak_memory())


# -- the report ------------------------------------------------------------------------------


def duration(nanoseconds: float | None) -> str:
    if nanoseconds is None:
        return ""
    for unit, size in (("ns", 1), ("µs", 1e3), ("ms", 1e6)):
        if nanoseconds < 1000 * size or unit == "ms":
            value = nanoseconds / size
            return f"{value:.0f} {unit}" if unit == "ns" or value >= 100 else f"{value:.2f} {unit}"
    return ""


def ratio(a: float | None, b: float | None) -> str:
    return f"{a / b:.2f}" if a and b else ""


def geometric_mean(ratios: list[float]) -> float | None:
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else None


def ratios_of(rows: list[dict], a: str, b: str) -> list[float]:
    return [row[a] / row[b] for row in rows if row.get(a) and row.get(b)]


def table(head: list[str], rows: list[list[str]]) -> list[str]:
    marks = ["---", *["---:"] * (len(head) - 1)]
    return [f"| {' | '.join(cells)} |" for cells in (head, marks, *rows)] + [""]


def summary(results: dict) -> list[str]:
    """Return the findings, a sentence each."""
    lines = []
    for size in results["sizes"]:
        rows = [row for row in results["eager"] if row["size"] == size]
        for a, b, text in (
            ("minitorch", "torch", "minitorch / torch"),
            ("minitorch", "numpy", "minitorch / NumPy"),
            ("interpreted", "minitorch", "interpreted / compiled core"),
        ):
            found = ratios_of(rows, a, b)
            if found:
                lines.append(
                    f"{len(found)} eager operators, {size}: {text} {geometric_mean(found):.2f} "
                    f"(geometric mean; {min(found):.2f} to {max(found):.2f})"
                )
    found = ratios_of(results["training"], "minitorch", "torch")
    if found:
        each = ", ".join(f"{row['label']} {row['minitorch'] / row['torch']:.2f}" for row in results["training"])
        lines.append(f"training steps: minitorch / torch {geometric_mean(found):.2f} ({each})")
    for row in results["imports"]:
        lines.append(f"import {row['label']}: {row['seconds']:.2f} s, {row['bytes'] / 2**20:.0f} MiB")
    return lines


def markdown(results: dict, picture: bool) -> str:
    """Return the report."""
    about = results["about"]
    lines = [
        "# minitorch: measured speed", "",
        f"{about['date']}, {about['machine']}, {about['cores']} cores, {about['threads']} thread(s) used. "
        f"Python {about['python']}, "
        f"{', '.join(f'{name} {version}' for name, version in about['versions'].items())}. "
        f"Core compiled: {'yes' if about['compiled'] else '**no**'}.", "",
        "Ratios below 1 mean that minitorch is faster. Times are the best of several rounds in which the libraries took turns; "
        "compare ratios of one report, not times of two.", "", "## Summary", "",
        *(f"- {line}" for line in summary(results)), "",
    ]  # fmt: skip
    if picture:
        lines += ["![ratios of minitorch to its peers](report.png)", ""]
    for size in results["sizes"]:
        n = SIZES[size]
        lines += [f"## Eager operators, {n} x {n} float32 ({size})", ""]
        lines += table(
            ["operator", "minitorch", "interpreted", "NumPy", "torch", "/ torch", "/ NumPy"],
            [
                [
                    row["label"],
                    *(duration(row.get(key)) for key in ("minitorch", "interpreted", "numpy", "torch")),
                    ratio(row["minitorch"], row.get("torch")),
                    ratio(row["minitorch"], row.get("numpy")),
                ]
                for row in results["eager"]
                if row["size"] == size
            ],
        )
    lines += ["## What a hop costs", "", "`neg` of a 2 x 2 tensor; each row after the first adds something.", ""]
    lines += table(
        ["what a call goes through", "NumPy", "minitorch", "torch"],
        [[row["label"], *(duration(row.get(key)) for key in ("numpy", "minitorch", "torch"))] for row in results["hops"]],
    )
    lines += ["## Training steps", ""]
    lines += table(
        ["workload", "minitorch", "torch", "/ torch", "largest loss difference"],
        [
            [
                row["label"], duration(row["minitorch"]), duration(row.get("torch")), ratio(row["minitorch"], row.get("torch")),
                "" if row["loss_gap"] is None else f"{row['loss_gap']:.1e}",
            ]
            for row in results["training"]
        ],
    )  # fmt: skip
    lines += ["## Import", "", "In a process of its own, bytecode cached; memory is the peak of the whole process.", ""]
    lines += table(
        ["library", "time", "memory"],
        [[r["label"], f"{r['seconds']:.3f} s", f"{r['bytes'] / 2**20:.0f} MiB"] for r in results["imports"]],
    )
    if results["memory"]:
        lines += ["## Memory of training", "", "Peak of a process that imports the library and makes ten steps.", ""]
        lines += table(
            ["workload", "library", "memory"],
            [[r["label"], r["library"], f"{r['bytes'] / 2**20:.0f} MiB"] for r in results["memory"]],
        )
    return "\n".join(lines)


def draw(results: dict, path: Path) -> bool:
    """Draw the ratios to torch (to NumPy where there is no torch); return whether it could be drawn."""
    if not has("matplotlib"):
        return False
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    peer, name = ("torch", "torch") if "torch" in results["about"]["versions"] else ("numpy", "NumPy")
    panels = [
        (f"eager, {SIZES[size]} x {SIZES[size]}", [row for row in results["eager"] if row["size"] == size])
        for size in results["sizes"]
    ]
    panels.append(("training steps", results["training"]))
    panels = [(title, [row for row in rows if row.get(peer)]) for title, rows in panels]
    panels = [(title, rows) for title, rows in panels if rows]
    figure, axes = plt.subplots(1, len(panels), figsize=(5.2 * len(panels), 8), squeeze=False)
    for ax, (title, rows) in zip(axes[0], panels, strict=True):
        values = [row["minitorch"] / row[peer] for row in rows]
        places = range(len(rows))
        ax.barh(places, values, color=["tab:green" if value <= 1 else "tab:orange" for value in values])
        ax.set_yticks(places, [row["label"] for row in rows])
        ax.invert_yaxis()
        ax.axvline(1, color="black", linewidth=1)
        ax.set(xlabel=f"time / {name}'s time (shorter is faster)", title=f"{title}: mean {geometric_mean(values):.2f}")
        for place, value in zip(places, values, strict=True):
            ax.text(value, place, f" {value:.2f}", va="center", fontsize=8)
        ax.margins(x=0.12)
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    plt.close(figure)
    return True


def measure(quick: bool) -> dict:
    """Return all measurements."""
    libraries = ["minitorch", "numpy"] + ["torch"] * has("torch")
    sizes = ["tiny"] if quick else list(SIZES)
    rounds, budget = (3, 0.003) if quick else (7, 0.01)
    modules = {name: load(name) if name != "numpy" else np for name in libraries}

    def part(text: str):
        print(f"{time.strftime('%H:%M:%S')}  {text}", file=sys.stderr, flush=True)

    part("eager operators")
    rows = eager(libraries, sizes, rounds, budget)
    part("eager operators, interpreted core")
    task = f"eager:{','.join(sizes)}"
    options = ["--threads", THREADS, *["--quick"] * quick]
    interpreted = json.loads(run_python([__file__, "--worker", task, *options], interpreted=True))
    for row, other in zip(rows, interpreted, strict=True):
        row["interpreted"] = other["minitorch"]
    part("hops")
    hop_rows = hops(libraries, rounds, budget)
    part("training steps")
    training_rows = training(libraries, rounds, 0.05 if quick else 0.3)
    part("import and memory")
    return {
        "about": {
            "date": time.strftime("%Y-%m-%d"),
            "machine": f"{platform.system()} {platform.machine()}",
            "cores": os.cpu_count(),
            "threads": THREADS,
            "python": platform.python_version(),
            "versions": {n: m.__version__ for n, m in modules.items() if hasattr(m, "__version__")},
            "compiled": modules["minitorch"].core_is_compiled(),
        },
        "sizes": sizes,
        "eager": rows,
        "hops": hop_rows,
        "training": training_rows,
        "imports": imports(["numpy", *[n for n in libraries if n != "numpy"]], 2 if quick else 5),
        "memory": [] if quick else training_memory(libraries),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"), help="folder for the report")
    parser.add_argument("--quick", action="store_true", help="tiny operators only, fewer rounds, no training memory")
    parser.add_argument("--threads", default="1")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    args = parser.parse_args()
    sys.path.insert(0, str(ROOT))
    if args.worker:
        work(args.worker, *((3, 0.003) if args.quick else (7, 0.01)))
        return 0
    results = measure(args.quick)
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "report.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    picture = draw(results, args.out / "report.png")
    (args.out / "report.md").write_text(markdown(results, picture), encoding="utf-8")
    print("\n".join(summary(results)))
    print(f"report: {args.out / 'report.md'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
