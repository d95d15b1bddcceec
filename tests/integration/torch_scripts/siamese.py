"""A siamese network: are two images of one kind?"""
import os
import tempfile

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import ConcatDataset, DataLoader, Dataset, Subset, random_split


class Pairs(Dataset):
    def __init__(self, count):
        self.labels = torch.arange(count) % 2
        kinds = torch.randint(0, 4, (count, 2))
        kinds[:, 1] = torch.where(self.labels == 1, kinds[:, 0], (kinds[:, 0] + 1 + kinds[:, 1] % 3) % 4)
        self.images = F.one_hot(kinds, 4).float().repeat_interleave(16, dim=2).view(count, 2, 1, 8, 8)
        self.images += torch.randn_like(self.images) * 0.3

    def __len__(self):
        return self.labels.size(0)

    def __getitem__(self, i):
        return self.images[i, 0], self.images[i, 1], self.labels[i].float()


class ContrastiveLoss(torch.nn.Module):
    def __init__(self, margin=1.0):
        super().__init__()
        self.margin = margin

    def forward(self, a, b, same):
        distance = F.pairwise_distance(a, b, keepdim=True).squeeze(1)
        return torch.mean(same * distance.pow(2) + (1 - same) * torch.clamp(self.margin - distance, min=0.0).pow(2))


class SiameseNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.cnn = nn.Sequential(nn.ReflectionPad2d(1), nn.Conv2d(1, 4, 3), nn.ReLU(inplace=True), nn.InstanceNorm2d(4),
                                 nn.AvgPool2d(2))
        self.fc = nn.Sequential(nn.Flatten(), nn.Linear(64, 16), nn.PReLU(), nn.Linear(16, 4))
        self.cnn[1].register_forward_hook(lambda m, i, o: setattr(self, "seen", o.detach().abs().mean().item()))

    def forward_once(self, x):
        return F.normalize(self.fc(self.cnn(x)), p=2, dim=1)

    def forward(self, a, b):
        return self.forward_once(a), self.forward_once(b)


torch.manual_seed(5)
train_set, rest = random_split(ConcatDataset([Pairs(96), Pairs(64)]), [128, 32])
loader = DataLoader(train_set, batch_size=32, shuffle=True, generator=torch.Generator().manual_seed(7))
net = SiameseNetwork()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, nesterov=True)
scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.2, total_steps=12)
criterion = ContrastiveLoss()
for epoch in range(3):
    for a, b, same in loader:
        optimizer.zero_grad()
        loss = criterion(*net(a, b), same)
        loss.backward()
        optimizer.step()
        scheduler.step()
    print("Epoch %d loss %.5f seen %.5f lr %.5f" % (epoch, loss.item(), net.seen, scheduler.get_last_lr()[0]))
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "checkpoint.pt")
    torch.save({"model": net.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3}, path)
    checkpoint = torch.load(path, map_location=lambda storage, loc: storage)
    other = SiameseNetwork()
    print(other.load_state_dict(checkpoint["model"]), checkpoint["epoch"])
other.eval()
a, b, same = next(iter(DataLoader(Subset(rest, range(16)), batch_size=16)))
print("distance %.4f" % F.pairwise_distance(*other(a, b)).mean().item())
