"""Several networks trained as one: their parameters stacked, the network and its gradient under `vmap`.

Each has its own initial values and learns from the same examples to tell two interleaved half moons apart; how
far their answers spread is a measure of doubt.  ``--module torch`` runs the script with PyTorch.

    python examples/ensemble.py
    python examples/ensemble.py --models 32 --steps 300
"""

import argparse
import importlib
import math
import time


def half_moons(torch, count, noise=0.1):
    """Return points (count, 2) on two half moons, and which one each is on, (count,) int64."""
    angle = math.pi * torch.rand(count)
    which = torch.arange(count) % 2
    upper = torch.stack([angle.cos(), angle.sin()], 1)
    lower = torch.stack([1 - angle.cos(), 0.5 - angle.sin()], 1)
    points = torch.where(which[:, None] == 0, upper, lower)
    return points + noise * torch.randn(count, 2), which


def make_model(torch):
    nn = torch.nn
    return nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 2))


def train_together(torch, models, points, labels, steps, lr=0.2):
    """Train all models at once by gradient descent; return their parameters, stacked, and the last losses, (models,)."""
    func = torch.func
    parameters, buffers = func.stack_module_state(models)
    parameters = {name: p.detach() for name, p in parameters.items()}
    model = models[0]  # gives the structure; its own parameters are not used

    def loss(parameters, buffers):
        scores = func.functional_call(model, (parameters, buffers), (points,))
        return torch.nn.functional.cross_entropy(scores, labels)

    step = func.vmap(func.grad_and_value(loss))
    for _ in range(steps):
        gradients, losses = step(parameters, buffers)
        parameters = {name: p - lr * gradients[name] for name, p in parameters.items()}
    return parameters, losses


def train_alone(torch, model, points, labels, steps, lr=0.2):
    """Train one model in place by gradient descent; return the last loss."""
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    for _ in range(steps):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(points), labels)
        loss.backward()
        optimizer.step()
    return loss.detach()


def predict(torch, model, parameters, points):
    """Return the probabilities that each model of an ensemble gives, (models, points, 2)."""

    def one(parameters):
        return torch.func.functional_call(model, parameters, (points,)).softmax(-1)

    return torch.func.vmap(one)(parameters)


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--module", default="minitorch", help="minitorch or torch")
    parser.add_argument("--models", type=int, default=16)
    parser.add_argument("--steps", type=int, default=150)
    args = parser.parse_args(argv)
    torch = importlib.import_module(args.module)
    torch.manual_seed(0)
    points, labels = half_moons(torch, 64)
    models = [make_model(torch) for _ in range(args.models)]

    start = time.perf_counter()
    parameters, losses = train_together(torch, models, points, labels, args.steps)
    together = time.perf_counter() - start
    start = time.perf_counter()
    alone_losses = torch.stack([train_alone(torch, m, points, labels, args.steps) for m in models])
    alone = time.perf_counter() - start

    worst = (losses - alone_losses).abs().max().item()
    print(f"{args.models} models, {args.steps} steps, {args.module}: one by one {alone:.2f} s, together {together:.2f} s")
    print(f"{alone / together:.1f} times as fast; the last losses differ by {worst:.1e} at most")
    angles = torch.linspace(0, 2 * math.pi, 64)
    circle = 5 * torch.stack([angles.cos(), angles.sin()], 1)
    for name, where in (("at the examples", points), ("on a circle around them", circle)):
        spread = predict(torch, models[0], parameters, where)[..., 1].std(0)
        print(f"standard deviation of the models' probabilities {name}: {spread.mean().item():.4f}")
    return alone / together, worst


if __name__ == "__main__":
    main()
