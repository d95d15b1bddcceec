"""Train a residual network on handwritten digits.

Images are shifted by a pixel at random while training. The average of the weights over the last steps is tested too.
The check: at least 98 % of the test images are right.

    python examples/resnet.py
    python examples/resnet.py --device opencl --epochs 4
"""

from common import Progress, check, load_digits, load_module, options, pyplot, save

BOUND = 0.98


def make_model(torch, width=16, blocks=(1, 1, 1), classes=10):
    """Return the network: images (n, 1, 8, 8) to scores (n, classes); each stage halves the size and doubles the width."""
    nn = torch.nn

    class Block(nn.Module):
        """Two convolutions, whose result is added to the input."""

        def __init__(self, inputs, outputs, stride):
            super().__init__()
            self.main = nn.Sequential(
                nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False),
                nn.BatchNorm2d(outputs),
                nn.ReLU(),
                nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False),
                nn.BatchNorm2d(outputs),
            )
            self.shortcut = nn.Identity()
            if stride != 1 or inputs != outputs:
                self.shortcut = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))
            nn.init.zeros_(self.main[-1].weight)  # each block starts as its shortcut

        def forward(self, x):
            return nn.functional.relu(self.main(x) + self.shortcut(x))

    layers = [nn.Conv2d(1, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU()]
    inputs = width
    for stage, count in enumerate(blocks):
        outputs = width * 2**stage
        for i in range(count):
            layers.append(Block(inputs, outputs, stride=2 if stage and not i else 1))
            inputs = outputs
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, classes))


def shifted(torch, images):
    """Return images moved by up to a pixel in each direction, zeros coming in."""
    padded = torch.nn.functional.pad(images, (1, 1, 1, 1))
    size = images.shape[-1]
    n = torch.arange(len(images))[:, None, None]
    rows = torch.randint(3, (len(images), 1, 1)) + torch.arange(size)[:, None]
    columns = torch.randint(3, (len(images), 1, 1)) + torch.arange(size)
    return padded[n, 0, rows, columns][:, None]


def accuracy(torch, model, images, labels):
    """Return the share of images whose highest score is their label's."""
    model.eval()
    with torch.no_grad():
        right = (model(images).argmax(1) == labels).sum().item()
    model.train()
    return right / len(labels)


def train(torch, model, data, epochs, device="cpu", batch_size=64, lr=0.1, max_steps=None):
    """Train the network; return the average of its weights as a model, the losses, and the test accuracies."""
    images, labels, test_images, test_labels = data
    test_images, test_labels = test_images.to(device), test_labels.to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9, nesterov=True, weight_decay=5e-4)
    loader = torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(images, labels), batch_size=batch_size, shuffle=True, drop_last=True
    )
    steps = epochs * len(loader)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    average = torch.optim.swa_utils.AveragedModel(model, use_buffers=True)
    progress = Progress(epochs, f"resnet on {torch.__name__}, {device}")
    losses, accuracies = [], []
    for epoch in progress:
        for x, y in loader:
            scores = model(shifted(torch, x).to(device))
            loss = torch.nn.functional.cross_entropy(scores, y.to(device), label_smoothing=0.1)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            losses.append(loss.item())
            if len(losses) == max_steps:
                return average, losses, accuracies
        if 4 * epoch >= 3 * epochs - 4:
            average.update_parameters(model)
        accuracies.append(accuracy(torch, model, test_images, test_labels))
        progress.show(loss=losses[-1], test=accuracies[-1])
    return average, losses, accuracies


def draw(losses, accuracies, path):
    """Write the loss of each step and the accuracy of each epoch as a picture."""
    plt = pyplot()
    if plt is None:
        return
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.5))
    left.plot(losses, linewidth=1)
    left.set(xlabel="step", ylabel="training loss (nats)")
    right.plot(range(1, len(accuracies) + 1), [100 * a for a in accuracies], marker="o")
    right.set(xlabel="epoch", ylabel="test accuracy (%)")
    figure.tight_layout()
    save(figure, path)
    plt.close(figure)


def main(argv=None):
    args = options(__doc__, epochs=8, out="demo/resnet.png").parse_args(argv)
    torch = load_module(args)
    data = load_digits(torch)
    model = make_model(torch).to(args.device)
    print(f"{sum(p.numel() for p in model.parameters()):,} parameters")
    average, losses, accuracies = train(torch, model, data, args.epochs, args.device)
    draw(losses, accuracies, args.out)
    last, averaged = (accuracy(torch, m, data[2].to(args.device), data[3].to(args.device)) for m in (model, average))
    print(f"averaged weights: {100 * averaged:.2f} % of the test images right")
    check(last >= BOUND, f"{100 * last:.2f} % of the test images right, {100 * BOUND:.0f} % wanted")
    return last


if __name__ == "__main__":
    main()
