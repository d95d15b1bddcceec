"""The gradient of each image by itself: one `vmap(grad(...))` against a loop over the images.

Differentially private training clips each of them; their norms also show which images a network finds
strange.  The script is ordinary PyTorch code: ``--module torch`` runs it with PyTorch.

    python examples/per_sample_gradients.py
    python examples/per_sample_gradients.py --module torch --images 256
"""

import argparse
import importlib
import time


def make_model(torch):
    """Return a small network for images of 1 x 8 x 8; without batch norm, which mixes the images."""
    nn = torch.nn
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, padding=1),
        nn.GroupNorm(4, 16),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(16 * 16, 10),
    )


def loss_of_one(torch, model):
    """Return the loss of one image (1, 8, 8) and its label () as a function of the parameters."""

    def loss(parameters, image, label):
        # The network takes batches: of one image here.
        scores = torch.func.functional_call(model, parameters, (image[None],))
        return torch.nn.functional.cross_entropy(scores, label[None])

    return loss


def by_vmap(torch, model, images, labels):
    """Return by name the gradients of all images, (n, *shape of the parameter)."""
    parameters = {name: p.detach() for name, p in model.named_parameters()}
    gradients = torch.func.grad(loss_of_one(torch, model))
    return torch.func.vmap(gradients, in_dims=(None, 0, 0))(parameters, images, labels)


def by_loop(torch, model, images, labels):
    """Return what `by_vmap` returns, by one backward pass for each image."""
    names, parameters = zip(*model.named_parameters(), strict=True)
    rows = []
    for i in range(len(labels)):
        loss = torch.nn.functional.cross_entropy(model(images[i : i + 1]), labels[i : i + 1])
        rows.append(torch.autograd.grad(loss, parameters))
    return {name: torch.stack(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)}


def clipped_mean(torch, gradients, bound):
    """Return the mean over the images of gradients cut to the norm `bound`, and the norms before, (n,)."""
    norms = sum(g.flatten(1).square().sum(1) for g in gradients.values()).sqrt()
    weights = (bound / norms).clamp(max=1.0) / len(norms)
    return {name: torch.tensordot(weights, g, 1) for name, g in gradients.items()}, norms


def best_time(function, tries=3):
    """Return the least of some times that a call takes, in seconds, and its result."""
    times = []
    for _ in range(tries):
        start = time.perf_counter()
        result = function()
        times.append(time.perf_counter() - start)
    return min(times), result


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--module", default="minitorch", help="minitorch or torch")
    parser.add_argument("--images", type=int, default=128)
    args = parser.parse_args(argv)
    from digits import load_digits

    torch = importlib.import_module(args.module)
    torch.manual_seed(0)
    images, labels = (part[: args.images] for part in load_digits(torch)[0])
    model = make_model(torch)
    loop_seconds, loop = best_time(lambda: by_loop(torch, model, images, labels))
    vmap_seconds, vmapped = best_time(lambda: by_vmap(torch, model, images, labels))
    worst = max((loop[name] - vmapped[name]).abs().max().item() for name in loop)
    print(f"{len(labels)} images, {args.module}: loop {1000 * loop_seconds:.1f} ms, vmap {1000 * vmap_seconds:.1f} ms")
    print(f"{loop_seconds / vmap_seconds:.1f} times as fast; largest difference of two gradients {worst:.1e}")
    _, norms = clipped_mean(torch, vmapped, bound=1.0)
    print(f"norms of the gradients: median {norms.median().item():.2f}, largest {norms.max().item():.2f}")
    return loop_seconds / vmap_seconds, worst


if __name__ == "__main__":
    main()
