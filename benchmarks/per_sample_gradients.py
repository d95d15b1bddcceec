"""How much faster `vmap` of `grad` is than a loop of `grad` over the examples: the digits network, 64 examples.

Batch norm uses its running statistics and dropout is off (eval mode): in training the gradient of one example would
depend on the others, or on chance.

    python benchmarks/per_sample_gradients.py
    python benchmarks/per_sample_gradients.py --module torch --threads 1
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import os
import time
from pathlib import Path

DIGITS = Path(__file__).resolve().parents[1] / "examples" / "digits.py"


def digits_model(torch):
    """Return the network of the example, in eval mode."""
    spec = importlib.util.spec_from_file_location("digits_example", DIGITS)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    torch.manual_seed(0)
    return module.make_model(torch).eval()


def setting(torch, batch):
    """Return the gradient function of one example, its parameters, and a batch of examples."""
    func = importlib.import_module(f"{torch.__name__}.func")
    model = digits_model(torch)
    parameters = {name: p.detach() for name, p in model.named_parameters()}
    buffers = dict(model.named_buffers())
    x = torch.rand(batch, 1, 8, 8)
    y = torch.randint(0, 10, (batch,))

    def loss(parameters, x, y):
        scores = func.functional_call(model, (parameters, buffers), (x[None],))
        return torch.nn.functional.cross_entropy(scores, y[None])

    return func, func.grad(loss), parameters, x, y


def best_of_turns(functions, rounds):
    """Return the shortest time of a call of each function, in seconds; they take turns, so that a slow spell hits all."""
    times = [[] for _ in functions]
    for _ in range(rounds):
        for function, found in zip(functions, times, strict=True):
            start = time.perf_counter()
            function()
            found.append(time.perf_counter() - start)
    return [min(found) for found in times]


def main():
    parser = argparse.ArgumentParser(description="Per-sample gradients: vmap of grad, and a loop of grad.")
    parser.add_argument("--module", default="minitorch")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--threads", type=int, help="as many as the library takes by itself when omitted")
    options = parser.parse_args()
    if options.threads:
        for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
            os.environ[name] = str(options.threads)
    torch = importlib.import_module(options.module)
    if options.threads:
        torch.set_num_threads(options.threads)
    func, gradient, parameters, x, y = setting(torch, options.batch)
    mapped = func.vmap(gradient, in_dims=(None, 0, 0))

    def loop():
        return [gradient(parameters, x[i], y[i]) for i in range(options.batch)]

    found, expected = mapped(parameters, x, y), loop()
    worst = max(
        float((found[name] - torch.stack([e[name] for e in expected])).abs().max()) for name in parameters
    )
    fast, slow = best_of_turns([lambda: mapped(parameters, x, y), loop], options.rounds)
    print(f"batch {options.batch}: largest difference {worst:.1e}")
    print(f"loop of grad   {slow * 1e3:9.2f} ms")
    print(f"vmap of grad   {fast * 1e3:9.2f} ms")
    print(f"ratio          {slow / fast:9.1f}")


if __name__ == "__main__":
    main()
