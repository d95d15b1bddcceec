"""Train a small convolutional network on handwritten digits, and draw how it went.

The digits are the 1,797 images of 8 x 8 pixels from the UCI repository that scikit-learn
carries.  The script is ordinary PyTorch code: ``--module torch`` runs it with PyTorch, and
from the same seed the losses agree step by step.

    python examples/digits.py --out demo
    python examples/digits.py --module torch --out demo-torch
    python examples/digits.py --device opencl --out demo-opencl
"""

import argparse
import importlib
import json
import os
import time


def load_digits(torch):
    """Return training and test sets: images (n, 1, 8, 8) in [0, 1] as float32, labels int64."""
    import numpy as np
    from sklearn.datasets import load_digits as load

    data = load()
    images = (data.images[:, None] / 16.0).astype(np.float32)
    labels = data.target.astype(np.int64)
    order = np.random.default_rng(0).permutation(len(labels))
    train, test = order[:1437], order[1437:]
    from_numpy = torch.from_numpy
    return (
        (from_numpy(images[train]), from_numpy(labels[train])),
        (from_numpy(images[test]), from_numpy(labels[test])),
    )


def make_model(torch, width=64):
    """Return the network: two convolutions, batch norm, dropout, two linear layers with `width` numbers between them."""
    nn = torch.nn
    return nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1),
        nn.BatchNorm2d(32),
        nn.ReLU(),
        nn.Conv2d(32, 64, 3, padding=1),
        nn.BatchNorm2d(64),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Dropout(0.3),
        nn.Linear(64 * 16, width),
        nn.ReLU(),
        nn.Linear(width, 10),
    )


def accuracy(torch, model, images, labels):
    """Return the share of images whose highest score is their label's; all on one device."""
    model.eval()
    with torch.no_grad():
        right = (model(images).argmax(1) == labels).sum().item()
    model.train()
    return right / len(labels)


def train(torch, epochs=12, batch_size=64, lr=1e-3, seed=0, max_steps=None, progress=None, device="cpu", model=None):
    """Train a network (that of `make_model`) on a device; return it, the losses of steps and test accuracies of epochs."""
    torch.manual_seed(seed)
    (images, labels), (test_images, test_labels) = load_digits(torch)
    model = (make_model(torch) if model is None else model).to(device)
    test_images, test_labels = test_images.to(device), test_labels.to(device)
    data = torch.utils.data.TensorDataset(images, labels)
    loader = torch.utils.data.DataLoader(data, batch_size=batch_size, shuffle=True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
    steps = epochs * len(loader)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=5 * lr, total_steps=steps)
    losses, accuracies = [], []
    for _ in range(epochs):
        for x, y in loader:
            x, y = x.to(device), y.to(device)
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            schedule.step()
            losses.append(loss.item())
            if progress is not None:
                progress(losses, accuracies)
            if max_steps is not None and len(losses) >= max_steps:
                return model, losses, accuracies
        accuracies.append(accuracy(torch, model, test_images, test_labels))
    return model, losses, accuracies


def draw(losses, accuracies, path):
    """Write the loss of each step and the test accuracy of each epoch as a picture."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4))
    left.plot(losses, linewidth=1)
    left.set(xlabel="step", ylabel="training loss (cross-entropy, nats)", yscale="log", title="Loss")
    right.plot(range(1, len(accuracies) + 1), [100 * a for a in accuracies], marker="o")
    right.set(xlabel="epoch", ylabel="test accuracy (%)", title=f"Test accuracy: {100 * accuracies[-1]:.2f} %")
    for axes in (left, right):
        axes.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--module", default="minitorch", help="minitorch or torch")
    parser.add_argument("--device", default="cpu", help="cpu, opencl, opencl:1, ...")
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", default="demo", help="folder for the picture and the numbers")
    args = parser.parse_args()
    from tqdm import tqdm

    torch = importlib.import_module(args.module)
    steps = args.epochs * -(-1437 // 64)
    start = time.perf_counter()
    with tqdm(total=steps, unit="step", desc=f"digits on {args.module}, {args.device}") as bar:

        def progress(losses, accuracies):
            bar.update()
            shown = {"loss": f"{losses[-1]:.4f}"}
            if accuracies:
                shown["test"] = f"{100 * accuracies[-1]:.2f}%"
            bar.set_postfix(shown, refresh=False)

        _, losses, accuracies = train(torch, epochs=args.epochs, seed=args.seed, progress=progress, device=args.device)
    seconds = time.perf_counter() - start
    os.makedirs(args.out, exist_ok=True)
    picture = os.path.join(args.out, "digits.png")
    draw(losses, accuracies, picture)
    with open(os.path.join(args.out, "digits.json"), "w") as file:
        json.dump({"losses": losses, "test_accuracy": accuracies, "seconds": seconds}, file)
    print(f"test accuracy {100 * accuracies[-1]:.2f} % after {len(losses)} steps in {seconds:.1f} s; curves in {picture}")


if __name__ == "__main__":
    main()
