"""Train a variational autoencoder on handwritten digits, and draw digits that it makes up.

Kingma and Welling (2014). Pixels are black or white; an encoder gives a normal distribution over codes, a decoder gives
each pixel a probability, and both learn to raise a lower bound of the log likelihood. The checks: on test images the bound
is better by 5 nats than the log likelihood of pixels that know nothing of each other; and a classifier of real digits is
surer of what the decoder makes of random codes than of such pixels.

    python examples/vae.py
    python examples/vae.py --epochs 200 --out vae.png
"""

from common import Progress, check, load_digits, load_module, options, save_grid

GAIN = 5.0  # nats for each image


def make_model(torch, codes=8, width=128):
    """Return the network with methods `encode`, `decode` and `bound`, for images (n, 64) of zeros and ones."""
    nn, distributions = torch.nn, torch.distributions

    class VAE(nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder = nn.Sequential(nn.Linear(64, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU())
            self.mean, self.log_scale = nn.Linear(width, codes), nn.Linear(width, codes)
            self.decoder = nn.Sequential(
                nn.Linear(codes, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, 64)
            )
            self.register_buffer("origin", torch.zeros(codes))

        def encode(self, images):
            hidden = self.encoder(images)
            return distributions.Normal(self.mean(hidden), self.log_scale(hidden).exp())

        def decode(self, codes):
            return self.decoder(codes)  # the logarithms of odds of each pixel

        def prior(self):
            return distributions.Normal(self.origin, torch.ones_like(self.origin))

        def bound(self, images):
            """Return the evidence lower bound of each image, (n,), in nats."""
            posterior = self.encode(images)
            scores = self.decode(posterior.rsample())
            likelihood = -nn.functional.binary_cross_entropy_with_logits(scores, images, reduction="none").sum(-1)
            return likelihood - distributions.kl_divergence(posterior, self.prior()).sum(-1)

    return VAE()


def train(torch, model, images, epochs, device="cpu", batch_size=64, lr=2e-3):
    """Train the network; return the mean negative bound of each epoch."""
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    loader = torch.utils.data.DataLoader(images, batch_size=batch_size, shuffle=True)
    progress = Progress(epochs, f"vae on {torch.__name__}, {device}")
    losses = []
    for _ in progress:
        total = 0.0
        for batch in loader:
            loss = -model.bound(batch.to(device)).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(batch)
        losses.append(total / len(images))
        progress.show(loss=losses[-1])
    return losses


def bound_of_independent_pixels(torch, train_images, test_images):
    """Return the mean log likelihood of images whose pixels have the training images' means."""
    means = train_images.mean(0).clamp(1e-3, 1 - 1e-3)
    return (test_images * means.log() + (1 - test_images) * (1 - means).log()).sum(-1).mean().item()


def trust(samples, images, labels):
    """Return the mean probability of the class that a classifier of real digits finds most likely for samples."""
    from sklearn.linear_model import LogisticRegression

    classifier = LogisticRegression(max_iter=500).fit(images, labels)
    return float(classifier.predict_proba(samples).max(1).mean())


def main(argv=None):
    args = options(__doc__, epochs=50, out="demo/vae.png").parse_args(argv)
    torch = load_module(args)
    images, labels, test_images, _ = load_digits(torch)
    images, test_images = ((x.flatten(1) > 0.5).to(torch.float32) for x in (images, test_images))
    model = make_model(torch).to(args.device)
    train(torch, model, images, args.epochs, args.device)

    with torch.no_grad():
        bound = model.bound(test_images.to(args.device)).mean().item()
        means = model.decode(torch.randn(200, len(model.origin)).to(args.device)).sigmoid().cpu()
    samples = torch.bernoulli(means)
    save_grid(means[:40].reshape(-1, 8, 8), args.out, columns=10)
    simple = bound_of_independent_pixels(torch, images, test_images)
    check(bound > simple + GAIN, f"bound {bound:.1f} nats for each test image; pixels by themselves {simple:.1f}")
    sure = trust(samples.numpy(), images.numpy(), labels.numpy())
    noise = trust(torch.bernoulli(images.mean(0).expand(200, -1)).numpy(), images.numpy(), labels.numpy())
    check(sure > noise + 0.1, f"a classifier finds samples digits with probability {sure:.2f}, independent pixels {noise:.2f}")
    return bound - simple


if __name__ == "__main__":
    main()
