"""Teach a network to balance a pole on a cart, by policy gradients.

The equations and limits are those of Barto, Sutton and Anderson (1983), as in gymnasium's CartPole-v1: force 10 N to the left
or right each 0.02 s, one point for each step until the pole leans more than 12 degrees or the cart leaves 2.4 m, at most 500.
Sixteen carts run at once. The check: the policy, taking its likelier action, gets 450 points on average.

    python examples/cartpole.py
    python examples/cartpole.py --updates 80 --out cartpole.png
"""

import math

from common import Progress, check, load_module, options, pyplot, save

WANTED = 450.0
LIMIT = 500


class Carts:
    """Carts with poles: state (n, 4) of position, speed, angle (radians) and angular speed."""

    gravity, cart, pole, half_length, force, seconds = 9.8, 1.0, 0.1, 0.5, 10.0, 0.02

    def __init__(self, torch, count):
        self.torch = torch
        self.state = 0.1 * torch.rand(count, 4) - 0.05

    def step(self, actions):
        """Push each cart, right where its action is 1; return which of them have fallen."""
        torch = self.torch
        x, speed, angle, turning = self.state.unbind(1)
        force = self.force * (2.0 * actions - 1)
        total, moment = self.cart + self.pole, self.pole * self.half_length
        push = (force + moment * turning**2 * angle.sin()) / total
        turn = self.gravity * angle.sin() - angle.cos() * push
        turn = turn / (self.half_length * (4 / 3 - self.pole * angle.cos() ** 2 / total))
        pull = push - moment * turn * angle.cos() / total
        dt = self.seconds
        self.state = torch.stack([x + dt * speed, speed + dt * pull, angle + dt * turning, turning + dt * turn], 1)
        return (self.state[:, 0].abs() > 2.4) | (self.state[:, 2].abs() > math.radians(12))


def make_model(torch, width=64):
    """Return the network: states (..., 4) to scores of the two actions and the value of the state, (..., 3)."""
    nn = torch.nn
    return nn.Sequential(nn.Linear(4, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 3))


def play(torch, model, count, device="cpu", greedy=False):
    """Let carts run until all have fallen; return states (time, n, 4), actions and whether each still stood (time, n)."""
    carts = Carts(torch, count)
    standing = torch.ones(count, dtype=torch.bool)
    states, actions, alive = [], [], []
    with torch.no_grad():
        for _ in range(LIMIT):
            scores = model(carts.state.to(device))[:, :2].cpu()
            chosen = scores.argmax(1) if greedy else torch.distributions.Categorical(logits=scores).sample()
            states.append(carts.state)
            actions.append(chosen)
            alive.append(standing)
            standing = standing & ~carts.step(chosen)
            if not standing.any():
                break
    return torch.stack(states), torch.stack(actions), torch.stack(alive)


def returns_of(torch, alive, discount=0.99):
    """Return the discounted points from each step on, (time, n)."""
    found, total = [], torch.zeros(alive.shape[1])
    for reward in alive.to(torch.float32).flip(0):
        total = reward + discount * total
        found.append(total)
    return torch.stack(found).flip(0)


def update(torch, model, optimizer, states, actions, returns, epochs=4, clip=0.2, batch_size=1024):
    """Improve the policy on what was played: the clipped objective of Schulman et al. (2017)."""
    categorical = torch.distributions.Categorical
    scale = 0.1  # values are learned in units near 1
    with torch.no_grad():
        output = model(states)
        before = categorical(logits=output[:, :2]).log_prob(actions)
        advantage = returns - output[:, 2] / scale
        advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-6)
    for _ in range(epochs):
        for rows in torch.randperm(len(states)).split(batch_size):
            rows = rows.to(states.device)
            output = model(states[rows])
            policy = categorical(logits=output[:, :2])
            ratio = (policy.log_prob(actions[rows]) - before[rows]).exp()
            gain = torch.minimum(ratio * advantage[rows], ratio.clamp(1 - clip, 1 + clip) * advantage[rows])
            error = torch.nn.functional.mse_loss(output[:, 2], scale * returns[rows])
            loss = 0.5 * error - gain.mean() - 0.01 * policy.entropy().mean()
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()


def train(torch, model, updates, device="cpu", count=16, lr=3e-3):
    """Train the network; return the mean points of each round of play."""
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    decay = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.05, total_iters=updates)
    progress = Progress(updates, f"cartpole on {torch.__name__}, {device}")
    points = []
    for _ in progress:
        states, actions, alive = play(torch, model, count, device)
        returns = returns_of(torch, alive)
        update(torch, model, optimizer, *(x[alive].to(device) for x in (states, actions, returns)))
        decay.step()
        points.append(alive.sum(0).to(torch.float32).mean().item())
        progress.show(points=points[-1])
    return points


def draw(points, path):
    """Write the points of each round as a picture."""
    plt = pyplot()
    if plt is None:
        return
    figure, ax = plt.subplots(figsize=(6, 3.5))
    ax.plot(points)
    ax.set(xlabel="update", ylabel="mean points of 16 carts", ylim=(0, LIMIT + 10))
    figure.tight_layout()
    save(figure, path)
    plt.close(figure)


def main(argv=None):
    args = options(__doc__, updates=60, out="demo/cartpole.png").parse_args(argv)
    torch = load_module(args)
    model = make_model(torch).to(args.device)
    points = train(torch, model, args.updates, args.device)
    draw(points, args.out)
    alive = play(torch, model, 50, args.device, greedy=True)[2]
    mean = alive.sum(0).to(torch.float32).mean().item()
    check(mean >= WANTED, f"{mean:.0f} points on average over 50 carts, {WANTED:.0f} wanted; at first {points[0]:.0f}")
    return mean


if __name__ == "__main__":
    main()
