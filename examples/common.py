"""What the examples share: their options, a progress bar, checks."""

import argparse
import importlib
import os
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


def reference_text():
    """Return English text that comes with Python: the topics of its language reference, half a million characters."""
    from pydoc_data.topics import topics

    return "\n\n".join(text.strip() for _, text in sorted(topics.items()))


def load_digits(torch, test_share=0.2):
    """Return scikit-learn's 1,797 digits: images (n, 1, 8, 8) in [0, 1] and labels, to train with and to test with."""
    import numpy as np
    from sklearn.datasets import load_digits as load

    data = load()
    order = np.random.default_rng(0).permutation(len(data.target))
    images = torch.from_numpy((data.images[order, None] / 16.0).astype(np.float32))
    labels = torch.from_numpy(data.target[order].astype(np.int64))
    test = int(test_share * len(order))
    return images[test:], labels[test:], images[:test], labels[:test]


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


def save(figure, path):
    """Write a figure into a file, whose folder is made."""
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    figure.savefig(path, dpi=100)
    print("picture in", path)


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
    save(figure, path)
    plt.close(figure)


def check(holds, text):
    """Print what was found; end the program with exit code 1 if it is not as it should be."""
    print("ok:" if holds else "FAILED:", text)
    if not holds:
        raise SystemExit(1)
