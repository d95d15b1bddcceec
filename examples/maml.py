"""Learning to learn: parameters from which one step of gradient descent fits a sine wave of which ten points are known.

Model-agnostic meta-learning (Finn, Abbeel and Levine, 2017): the loss after the step is differentiated through
the step, `grad` inside of `grad`, for many waves at once by `vmap`.  ``--module torch`` runs it with PyTorch.

    python examples/maml.py
    python examples/maml.py --steps 1000
"""

import argparse
import importlib
import math
import time


def make_model(torch, width=40):
    nn = torch.nn
    return nn.Sequential(nn.Linear(1, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1))


def sine_waves(torch, tasks, points):
    """Return x and y of points of so many waves, and of other points of the same: four tensors (tasks, points, 1)."""
    amplitude = 0.1 + 4.9 * torch.rand(tasks, 1, 1)
    phase = math.pi * torch.rand(tasks, 1, 1)
    x, new_x = (10 * torch.rand(tasks, points, 1) - 5 for _ in range(2))
    return x, amplitude * torch.sin(x + phase), new_x, amplitude * torch.sin(new_x + phase)


def loss_after_steps(torch, model, steps=1, lr=0.01):
    """Return the function of parameters and one task that adapts the parameters and gives the loss at the new points."""
    func = torch.func

    def loss(parameters, x, y):
        return torch.nn.functional.mse_loss(func.functional_call(model, parameters, (x,)), y)

    def adapted(parameters, x, y, new_x, new_y):
        for _ in range(steps):
            gradients = func.grad(loss)(parameters, x, y)
            parameters = {name: p - lr * gradients[name] for name, p in parameters.items()}
        return loss(parameters, new_x, new_y)

    return adapted


def meta_gradient(torch, model, parameters, tasks, steps=1, lr=0.01):
    """Return the gradient of the mean loss after adaptation, by name, and that loss."""
    func = torch.func
    of_one = loss_after_steps(torch, model, steps, lr)

    def mean_loss(parameters):
        return func.vmap(of_one, in_dims=(None, 0, 0, 0, 0))(parameters, *tasks).mean()

    return func.grad_and_value(mean_loss)(parameters)


def train(torch, model, steps, tasks=25, points=10, progress=None):
    """Train the model's parameters in place with Adam; return the loss of each step."""
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    losses = []
    for _ in range(steps):
        parameters = {name: p.detach() for name, p in model.named_parameters()}
        gradients, loss = meta_gradient(torch, model, parameters, sine_waves(torch, tasks, points))
        for name, p in model.named_parameters():
            p.grad = gradients[name]
        optimizer.step()
        losses.append(loss.item())
        if progress is not None:
            progress(losses)
    return losses


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--module", default="minitorch", help="minitorch or torch")
    parser.add_argument("--steps", type=int, default=400)
    args = parser.parse_args(argv)
    torch = importlib.import_module(args.module)
    torch.manual_seed(0)
    model = make_model(torch)

    def progress(losses):
        if len(losses) % max(args.steps // 5, 1) == 0:
            recent = losses[-50:]
            print(f"step {len(losses):5d}: loss after one step on ten points {sum(recent) / len(recent):.3f}")

    start = time.perf_counter()
    losses = train(torch, model, args.steps, progress=progress)
    print(f"{args.steps} steps of 25 waves in {time.perf_counter() - start:.1f} s on {args.module}")
    # A wave that was not among them: how the fit gets better step by step.
    parameters = {name: p.detach() for name, p in model.named_parameters()}
    tasks = sine_waves(torch, 100, 10)
    for steps in (0, 1, 5):
        of_one = loss_after_steps(torch, model, steps)
        found = torch.func.vmap(of_one, in_dims=(None, 0, 0, 0, 0))(parameters, *tasks)
        print(f"new waves after {steps} steps: loss {found.mean().item():.3f}")
    return losses


if __name__ == "__main__":
    main()
