"""What the examples share: their options, a progress bar, checks."""

import argparse
import importlib
import sys


def options(doc, **defaults):
    """Return a parser with the options of all examples, and one more for each default: steps=100 is ``--steps 100``."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--module", default="minitorch", help="minitorch or torch")
    parser.add_argument("--device", default="cpu", help="cpu, opencl, opencl:1, cuda, ...")
    parser.add_argument("--seed", type=int, default=0)
    for name, value in defaults.items():
        parser.add_argument("--" + name.replace("_", "-"), type=type(value), default=value, help=f"default {value!r}")
    return parser


def load_module(args):
    """Return the library that ``--module`` names, seeded."""
    torch = importlib.import_module(args.module)
    torch.manual_seed(args.seed)
    return torch


class Progress:
    """Steps with a bar where tqdm is installed, else a line now and then; `show` puts numbers beside it."""

    def __init__(self, steps, text):
        self.steps, self.text, self.shown = steps, text, ""
        try:
            from tqdm import tqdm
        except ImportError:
            self.bar = None
        else:
            self.bar = tqdm(total=steps, desc=text)

    def __iter__(self):
        for step in range(self.steps):
            yield step
            if self.bar is not None:
                self.bar.update()
            elif (step + 1) * 10 // self.steps > step * 10 // self.steps:
                print(f"{self.text}: {step + 1}/{self.steps}  {self.shown}", file=sys.stderr)
        if self.bar is not None:
            self.bar.close()

    def show(self, **numbers):
        self.shown = ", ".join(f"{name}={value:.4g}" for name, value in numbers.items())
        if self.bar is not None:
            self.bar.set_postfix_str(self.shown, refresh=False)


def pyplot():
    """Return matplotlib's pyplot, which draws into files; None where matplotlib is not installed."""
    try:
        import matplotlib
    except ImportError:
        print("matplotlib is not installed: no picture")
        return None
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    return plt


def save_grid(images, path, columns):
    """Write images (n, height, width) in [0, 1] as one picture, row by row."""
    plt = pyplot()
    if plt is None:
        return
    rows = -(-len(images) // columns)
    figure, axes = plt.subplots(rows, columns, figsize=(columns, rows), squeeze=False)
    for ax in axes.flat:
        ax.axis("off")
    for ax, image in zip(axes.flat, images, strict=False):
        ax.imshow(image.tolist(), cmap="gray", vmin=0, vmax=1)
    figure.savefig(path, dpi=80)
    plt.close(figure)
    print("samples in", path)


def check(holds, text):
    """Print what was found; end the program with exit code 1 if it is not as it should be."""
    print("ok:" if holds else "FAILED:", text)
    if not holds:
        raise SystemExit(1)
