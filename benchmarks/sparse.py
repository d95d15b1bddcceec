"""Products of sparse matrices: the time of each, and its ratio to torch's, which takes turns with it.

    python benchmarks/sparse.py                    # 1,000,000 entries, and small matrices; one thread each
    python benchmarks/sparse.py --threads 0        # as many threads as each library takes by itself
    python benchmarks/sparse.py --device opencl

Values are compared too.  Without torch the times stand alone.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
import time

# rows and columns, entries, columns of the dense matrix
SIZES = {"1e6": (100_000, 1_000_000, (1, 16, 64)), "1e4": (1_000, 10_000, (32,)), "500": (100, 500, (8,))}


def best_of_turns(functions, rounds):
    """Return the shortest time of a call of each function, in seconds; they take turns, so that a slow spell hits all."""
    times = [[] for _ in functions]
    for function in functions:
        function()
    for _ in range(rounds):
        for function, found in zip(functions, times, strict=True):
            start = time.perf_counter()
            function()
            found.append(time.perf_counter() - start)
    return [min(found) for found in times]


def entries(n, nnz, seed=0):
    """Return rows, columns and values, in the order of rows; a position may come twice and is then added up."""
    import numpy as np

    rng = np.random.default_rng(seed)
    places = np.unique(rng.integers(0, n * n, nnz))
    return places // n, places % n, rng.standard_normal(places.size).astype(np.float32)


def operands(module, n, nnz, k, device):
    import numpy as np

    rows, columns, values = (module.from_numpy(a) for a in entries(n, nnz))
    dense = module.from_numpy(np.random.default_rng(1).standard_normal((n, k)).astype(np.float32))
    coo = module.sparse_coo_tensor(module.stack([rows, columns]), values, (n, n), is_coalesced=True)
    csr = coo.to_sparse_csr()
    return coo.to(device), csr.to(device), dense.to(device)


def cases(module, n, nnz, k, device):
    """Return name -> function of what is timed."""
    coo, csr, dense = operands(module, n, nnz, k, device)
    synchronize = getattr(module, device).synchronize if device != "cpu" else lambda: None
    found = {}
    for name, sparse in (("csr", csr), ("coo", coo)):
        leaf, factor = sparse.detach().requires_grad_(), dense.detach().requires_grad_()

        def forward(sparse=sparse):
            result = sparse @ dense
            synchronize()
            return result

        def to_dense_factor(sparse=sparse, factor=factor):
            (gradient,) = module.autograd.grad((sparse @ factor).sum(), factor)
            synchronize()
            return gradient

        def to_sparse_factor(leaf=leaf):
            (gradient,) = module.autograd.grad(module.sparse.mm(leaf, dense).sum(), leaf)
            synchronize()
            return gradient

        found[f"{name} @ dense"] = forward
        found[f"{name} @ dense, gradient of dense"] = to_dense_factor
        # PyTorch multiplies dense matrices for the gradient of coordinates.
        if name == "csr" or n <= 1000:
            found[f"{name} @ dense, gradient of {name}"] = to_sparse_factor
    if k == 1 or n <= 1000:
        found["csr @ csr"] = lambda: csr @ csr
    return found


def difference(ours, theirs):
    """Return the largest difference of two results, of sums of their rows where they are sparse."""
    import numpy as np

    def values(t):
        if str(t.layout) == "torch.strided":
            return t.cpu().numpy()
        return (t @ t.values().new_ones(t.shape[1], 1) if not t.is_sparse else t.coalesce().values()).cpu().numpy()

    return float(np.abs(values(ours) - values(theirs)).max())


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=1, help="0: what each library does by itself")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--sizes", default=",".join(SIZES))
    options = parser.parse_args(arguments)
    if options.threads:
        os.environ["OMP_NUM_THREADS"] = str(options.threads)

    import minitorch

    torch = None
    if importlib.util.find_spec("torch"):
        import torch

        if options.threads:
            torch.set_num_threads(options.threads)
    if options.threads:
        minitorch.set_num_threads(options.threads)
    print(f"{'':44}{'minitorch':>12}{'torch':>12}{'ratio':>8}{'difference':>12}")
    worst = 0.0
    for size in options.sizes.split(","):
        n, nnz, widths = SIZES[size]
        for k in widths:
            ours = cases(minitorch, n, nnz, k, options.device)
            theirs = cases(torch, n, nnz, k, "cpu") if torch else {}
            for name, function in ours.items():
                functions = [function] + ([theirs[name]] if torch else [])
                rounds = options.rounds * (1 if n > 1000 else 100)
                times = best_of_turns(functions, rounds)
                text = f"{size} entries, {k:2} columns: {name:24}"
                line = f"{text:44}{times[0] * 1e3:9.3f} ms"
                if torch:
                    ratio = times[0] / times[1]
                    if n > 1000:
                        worst = max(worst, ratio)
                    line += f"{times[1] * 1e3:9.3f} ms{ratio:8.2f}{difference(function(), theirs[name]()):12.1e}"
                print(line, flush=True)
    if torch:
        print(f"largest ratio at 1,000,000 entries: {worst:.2f}")


if __name__ == "__main__":
    sys.exit(main())
