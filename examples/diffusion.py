"""Train a denoising diffusion model (Ho et al., 2020) on points of a spiral, and draw new ones.

A network learns to say what noise was added to a point; from pure noise, step by step, points come back. The checks:
samples are near the spiral, and all of it is there: the energy distance between them and points of the spiral is a tenth of
that of a normal distribution, or less.

    python examples/diffusion.py
    python examples/diffusion.py --steps 10000 --out diffusion.png
"""

import math

from common import Progress, check, load_module, options, pyplot, save


def spiral(torch, count, noise=0.03):
    """Return points (count, 2) about a spiral, of mean near 0 and variance near 1."""
    angle = 3 * math.pi * (0.25 + 0.75 * torch.rand(count).sqrt())
    points = torch.stack([angle.cos(), angle.sin()], 1) * angle[:, None] / 5
    return points + noise * torch.randn(count, 2)


def make_model(torch, width=96):
    """Return the network: noisy points (n, 2) and the share of time gone by (n,) in (0, 1] to the noise in them (n, 2)."""
    nn = torch.nn

    class Denoiser(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("frequencies", math.pi * 2.0 ** torch.arange(5))
            self.layers = nn.Sequential(
                nn.Linear(2 + 10, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU(),
                nn.Linear(width, width), nn.SiLU(), nn.Linear(width, 2),
            )  # fmt: skip

        def forward(self, points, time):
            waves = time[:, None] * self.frequencies
            return self.layers(torch.cat([points, waves.sin(), waves.cos()], 1))

    return Denoiser()


class Schedule:
    """How much of a point is left after each of the steps: the cosine schedule of Nichol and Dhariwal (2021)."""

    def __init__(self, torch, steps=50):
        self.torch, self.steps = torch, steps
        angle = torch.arange(steps + 1) / steps * (0.5 * math.pi) * 0.995
        left = angle.cos() ** 2
        self.left = left[1:] / left[0]
        self.alpha = left[1:] / left[:-1]

    def noisy(self, points, step, noise):
        """Return points after `step` (n,) steps of noise."""
        left = self.left[step][:, None]
        return left.sqrt() * points + (1 - left).sqrt() * noise

    def sample(self, model, count, device="cpu"):
        """Return new points (count, 2), made from noise."""
        torch = self.torch
        x = torch.randn(count, 2)
        with torch.no_grad():
            for step in reversed(range(self.steps)):
                time = torch.full((count,), (step + 1) / self.steps)
                noise = model(x.to(device), time.to(device)).cpu()
                alpha, left = self.alpha[step], self.left[step]
                x = (x - (1 - alpha) / (1 - left).sqrt() * noise) / alpha.sqrt()
                if step:
                    x = x + (1 - alpha).sqrt() * torch.randn(count, 2)
        return x


def train(torch, model, schedule, steps, device="cpu", batch_size=256, lr=3e-3):
    """Train the network; return the loss of each step."""
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    decay = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    progress = Progress(steps, f"diffusion on {torch.__name__}, {device}")
    losses = []
    for _ in progress:
        step = torch.randint(schedule.steps, (batch_size,))
        noise = torch.randn(batch_size, 2)
        x = schedule.noisy(spiral(torch, batch_size), step, noise).to(device)
        loss = torch.nn.functional.mse_loss(model(x, ((step + 1) / schedule.steps).to(device)), noise.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        decay.step()
        losses.append(loss.item())
        progress.show(loss=losses[-1])
    return losses


def energy_distance(torch, a, b):
    """Return twice the mean distance between two sets less those within each (Szekely and Rizzo, 2013); 0 for one law."""

    def within(x):
        return torch.cdist(x, x).sum() / (len(x) * (len(x) - 1))

    return (2 * torch.cdist(a, b).mean() - within(a) - within(b)).item()


def draw(points, samples, path):
    """Write the points of the spiral and the samples as a picture."""
    plt = pyplot()
    if plt is None:
        return
    figure, axes = plt.subplots(1, 2, figsize=(8, 4), sharex=True, sharey=True)
    for ax, x, title in zip(axes, (points, samples), ("spiral", "samples"), strict=True):
        ax.scatter(*x.T.tolist(), s=3)
        ax.set(title=title, aspect="equal")
    save(figure, path)
    plt.close(figure)


def main(argv=None):
    args = options(__doc__, steps=4000, out="demo/diffusion.png").parse_args(argv)
    torch = load_module(args)
    model, schedule = make_model(torch).to(args.device), Schedule(torch)
    train(torch, model, schedule, args.steps, args.device)
    samples, points = schedule.sample(model, 1000, args.device), spiral(torch, 1000)
    draw(points, samples, args.out)
    normal = points.mean(0) + points.std(0) * torch.randn(1000, 2)
    away = torch.cdist(samples, spiral(torch, 4000)).min(1).values.mean().item()
    found, other = (energy_distance(torch, x, points) for x in (samples, normal))
    check(away < 0.05, f"samples are {away:.3f} from the nearest of 4,000 points of the spiral on average, at most 0.05 wanted")
    check(found < 0.1 * other, f"energy distance of samples {found:.4f}, of a normal distribution {other:.4f}")
    return found


if __name__ == "__main__":
    main()
