"""Training a small network under the profiler, as the recipes show it."""
import json
import os
import tempfile

import torch
import torch.nn.functional as F
import torch.utils.benchmark as benchmark
from torch import nn, optim
from torch.autograd import profiler as autograd_profiler
from torch.profiler import ProfilerActivity, profile, record_function, schedule, tensorboard_trace_handler
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(96, 1, 12, 12)
y = (x.mean(dim=(1, 2, 3)) > 0).long()
loader = DataLoader(TensorDataset(x, y), batch_size=16)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 4, 3)
        self.conv2 = nn.Conv2d(4, 8, 3)
        self.fc = nn.Linear(8 * 4 * 4, 2)

    def forward(self, x):
        with record_function("convolutions"):
            x = F.relu(self.conv1(x))
            x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        with record_function("head"):
            return F.log_softmax(self.fc(torch.flatten(x, 1)), dim=1)


model = Net()
optimizer = optim.SGD(model.parameters(), lr=0.05, momentum=0.9)


def report(prof):
    averages = {event.key: event for event in prof.key_averages()}
    steps = sorted(key for key in averages if key.startswith("ProfilerStep"))
    print("cycle:", " ".join(steps))
    for name in ("convolutions", "head", "aten::conv2d", "aten::linear", "aten::log_softmax", "aten::nll_loss_forward",
                 "Optimizer.step#SGD.step", "Optimizer.zero_grad#SGD.zero_grad",
                 "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
                 "autograd::engine::evaluate_function: ReluBackward0",
                 "autograd::engine::evaluate_function: LogSoftmaxBackward0"):  # fmt: skip
        print(f"  {name}: {averages[name].count}")
    total = sum(event.self_cpu_time_total for event in averages.values())
    print("  has times:", total > 0, "convolutions in part:", 0 < averages["convolutions"].cpu_time_total <= total)


with profile(
    activities=[ProfilerActivity.CPU],
    schedule=schedule(wait=1, warmup=1, active=2, repeat=1),
    on_trace_ready=report,
    record_shapes=True,
    profile_memory=True,
) as prof:
    for step, (data, target) in enumerate(loader):
        optimizer.zero_grad()
        loss = F.nll_loss(model(data), target)
        loss.backward()
        optimizer.step()
        prof.step()
        print(f"step {step}: loss {loss.item():.4f}")

by_shape = prof.key_averages(group_by_input_shape=True)
print("shapes:", sorted(str(e.input_shapes[:2]) for e in by_shape if e.key == "aten::conv2d"))
print("sorted:", "aten::conv2d" in by_shape.table(sort_by="cpu_time_total", row_limit=200))

with tempfile.TemporaryDirectory() as log:
    with profile(activities=[ProfilerActivity.CPU], on_trace_ready=tensorboard_trace_handler(log, worker_name="worker")):
        with torch.no_grad():
            model(x[:2])
    (name,) = os.listdir(log)
    with open(os.path.join(log, name)) as file:
        rows = json.load(file)["traceEvents"]
print("trace:", sum(row.get("name") == "aten::conv2d" and row.get("ph") == "X" for row in rows))

with autograd_profiler.profile(record_shapes=True) as prof:
    with autograd_profiler.record_function("inference"):
        model(x[:2])
print("older:", sum(event.name == "inference" for event in prof.function_events))

measurement = benchmark.Timer("x @ x.t()", globals={"x": torch.ones(8, 8)}, label="product").timeit(20)
print("benchmark:", measurement.number_per_run, measurement.title, measurement.median > 0)
