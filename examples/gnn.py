"""Train a graph convolutional network with a sparse (CSR) adjacency matrix.

Two real graphs, of which a few nodes have known labels and the others are to be found (Kipf and Welling, 2017):

- ``karate``: Zachary's karate club, from networkx: 34 members, 78 friendships.  The two leaders are known; the label
  is the side that a member took when the club split.
- ``grid``: the European high-voltage transmission grid of the PEGASE project (case9241pegase), a file of the package
  pandapower: 9,241 buses, 16,049 lines and transformers.  The label is the nominal voltage of a bus; one in five is known.

The script is ordinary PyTorch code, and ends with an error if it has not learnt.

    python examples/gnn.py                                  # pip install networkx
    python examples/gnn.py --graph grid --device opencl     # pip install --no-deps pandapower
    python examples/gnn.py --graph grid --module torch
"""

import argparse
import importlib
import json
import sys
import time
from importlib.util import find_spec
from pathlib import Path

# What must be reached: accuracy on the nodes whose labels were not given.
ACCURACY = {"karate": 0.9, "grid": 0.8}
VOLTAGES = (220.0, 110.0, 380.0, 150.0, 154.0)  # kV; the rest, 141 buses, is one class


def karate_club():
    """Return edges, labels and the positions of the known labels."""
    import networkx

    graph = networkx.karate_club_graph()
    labels = [int(graph.nodes[n]["club"] == "Officer") for n in graph]
    return list(graph.edges()), labels, [0, 33]


def european_grid():
    """Return edges, labels and the positions of the known labels; of pandapower only a file is read."""
    spec = find_spec("pandapower")
    if spec is None:
        raise SystemExit("the grid is a file of pandapower: pip install --no-deps pandapower")
    path = Path(spec.submodule_search_locations[0], "networks", "power_system_test_case_jsons", "case9241pegase.json")
    tables = json.loads(path.read_text())["_object"]

    def columns(table, *names):
        found = tables[table]["_object"]
        found = json.loads(found) if isinstance(found, str) else found
        places = [found["columns"].index(name) for name in names]
        return found["index"], [tuple([row[i] for i in places]) for row in found["data"]]

    buses, voltages = columns("bus", "vn_kv")
    place = {bus: i for i, bus in enumerate(buses)}
    branches = columns("line", "from_bus", "to_bus")[1] + columns("trafo", "hv_bus", "lv_bus")[1]
    edges = [(place[a], place[b]) for a, b in branches]
    labels = [VOLTAGES.index(v) if v in VOLTAGES else len(VOLTAGES) for (v,) in voltages]
    return edges, labels, list(range(0, len(labels), 5))


def normalized_adjacency(torch, edges, count):
    """Return ``D^-1/2 (A + I) D^-1/2`` in CSR: D has the degrees in A + I."""
    pairs = torch.tensor(edges).t()
    loops = torch.arange(count).expand(2, count)
    indices = torch.cat([pairs, pairs.flip(0), loops], 1)
    ones = torch.sparse_coo_tensor(indices, torch.ones(indices.shape[1]), (count, count)).coalesce()
    indices = ones.indices()
    weights = torch.ones(indices.shape[1])  # parallel lines count once
    degrees = torch.zeros(count).index_add(0, indices[0], weights)
    roots = degrees.rsqrt()
    values = roots[indices[0]] * weights * roots[indices[1]]
    return torch.sparse_coo_tensor(indices, values, (count, count)).coalesce().to_sparse_csr()


def make_network(torch, count, hidden, classes):
    nn = torch.nn

    class GraphConvolution(nn.Module):
        """``adjacency @ (x @ weight) + bias``."""

        def __init__(self, inputs, outputs):
            super().__init__()
            self.weight = nn.Parameter(torch.empty(inputs, outputs))
            self.bias = nn.Parameter(torch.zeros(outputs))
            nn.init.xavier_uniform_(self.weight)

        def forward(self, adjacency, x):
            return adjacency @ (x @ self.weight) + self.bias

    class Network(nn.Module):
        """Nodes have no features: each learns a vector of its own, which its neighbours see."""

        def __init__(self):
            super().__init__()
            self.nodes = nn.Parameter(torch.randn(count, hidden) * 0.1)
            self.first = GraphConvolution(hidden, hidden)
            self.second = GraphConvolution(hidden, classes)

        def forward(self, adjacency):
            # Vectors of neighbourhoods rather than of nodes: what few labels teach reaches further.
            x = self.nodes
            for _ in range(4):
                x = adjacency @ x
            x = torch.relu(self.first(adjacency, x))
            return self.second(adjacency, x)

    return Network()


def train(torch, graph, device="cpu", epochs=100, seed=0):
    """Train; return the losses and the accuracy on the nodes whose labels were not given."""
    edges, labels, known = {"karate": karate_club, "grid": european_grid}[graph]()
    torch.manual_seed(seed)
    count, classes = len(labels), max(labels) + 1
    adjacency = normalized_adjacency(torch, edges, count).to(device)
    labels, known = torch.tensor(labels), torch.tensor(known)
    unknown = torch.ones(count, dtype=torch.bool)
    unknown[known] = False
    known_labels = labels[known].to(device)
    network = make_network(torch, count, 16, classes).to(device)
    optimizer = torch.optim.Adam(network.parameters(), lr=0.02, weight_decay=5e-4)
    known = known.to(device)
    losses = []
    for _ in range(epochs):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(network(adjacency)[known], known_labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    with torch.no_grad():
        found = network(adjacency).argmax(1).cpu()
    return losses, (found == labels)[unknown].float().mean().item()


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graph", choices=sorted(ACCURACY), default="karate")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--module", default="minitorch", help="minitorch or torch")
    parser.add_argument("--epochs", type=int, default=100)
    options = parser.parse_args(arguments)
    start = time.perf_counter()
    torch = importlib.import_module(options.module)
    losses, accuracy = train(torch, options.graph, options.device, options.epochs)
    seconds = time.perf_counter() - start
    print(
        f"{options.graph} on {options.device}: loss {losses[0]:.4f} -> {losses[-1]:.4f}, "
        f"accuracy on unknown nodes {accuracy:.1%}, {seconds:.1f} s"
    )
    learnt = losses[-1] < 0.5 * losses[0] and accuracy >= ACCURACY[options.graph]
    return 0 if learnt else 1


if __name__ == "__main__":
    sys.exit(main())
