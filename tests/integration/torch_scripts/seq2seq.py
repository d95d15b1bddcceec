"""Sequence to sequence with attention: reversing a row of symbols."""
import random

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import optim
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

SOS_token, EOS_token, PAD = 0, 1, 2


class EncoderRNN(nn.Module):
    def __init__(self, input_size, hidden_size, dropout_p=0.1):
        super().__init__()
        self.embedding = nn.Embedding(input_size, hidden_size, padding_idx=PAD)
        self.gru = nn.GRU(hidden_size, hidden_size, batch_first=True)
        self.dropout = nn.Dropout(dropout_p)

    def forward(self, input, lengths):
        embedded = self.dropout(self.embedding(input))
        packed = pack_padded_sequence(embedded, lengths, batch_first=True, enforce_sorted=False)
        output, hidden = self.gru(packed)
        output, _ = pad_packed_sequence(output, batch_first=True)
        return output, hidden


class BahdanauAttention(nn.Module):
    def __init__(self, hidden_size):
        super().__init__()
        self.Wa = nn.Linear(hidden_size, hidden_size)
        self.Ua = nn.Linear(hidden_size, hidden_size)
        self.Va = nn.Linear(hidden_size, 1)

    def forward(self, query, keys, mask):
        scores = self.Va(torch.tanh(self.Wa(query) + self.Ua(keys))).squeeze(2).unsqueeze(1)
        scores = scores.masked_fill(mask.unsqueeze(1), float("-inf"))
        weights = F.softmax(scores, dim=-1)
        return torch.bmm(weights, keys), weights


class AttnDecoderRNN(nn.Module):
    def __init__(self, hidden_size, output_size, dropout_p=0.1):
        super().__init__()
        self.embedding = nn.Embedding(output_size, hidden_size)
        self.attention = BahdanauAttention(hidden_size)
        self.gru = nn.GRU(2 * hidden_size, hidden_size, batch_first=True)
        self.out = nn.Linear(hidden_size, output_size)
        self.dropout = nn.Dropout(dropout_p)

    def forward(self, encoder_outputs, encoder_hidden, mask, target_tensor=None, max_length=10):
        batch_size = encoder_outputs.size(0)
        decoder_input = torch.empty(batch_size, 1, dtype=torch.long).fill_(SOS_token)
        decoder_hidden = encoder_hidden
        outputs = []
        for i in range(max_length):
            embedded = self.dropout(self.embedding(decoder_input))
            context, _ = self.attention(decoder_hidden.permute(1, 0, 2), encoder_outputs, mask)
            output, decoder_hidden = self.gru(torch.cat((embedded, context), dim=2), decoder_hidden)
            output = self.out(output)
            outputs.append(output)
            if target_tensor is not None:
                decoder_input = target_tensor[:, i].unsqueeze(1)
            else:
                _, topi = output.topk(1)
                decoder_input = topi.squeeze(-1).detach()
        return F.log_softmax(torch.cat(outputs, dim=1), dim=-1)


def make_batch(size):
    rows = [[random.randrange(3, 12) for _ in range(random.randrange(3, 9))] for _ in range(size)]
    inputs = pad_sequence([torch.tensor(r + [EOS_token]) for r in rows], batch_first=True, padding_value=PAD)
    targets = pad_sequence([torch.tensor(r[::-1] + [EOS_token]) for r in rows], batch_first=True, padding_value=PAD)
    return inputs, torch.tensor([len(r) + 1 for r in rows]), targets


random.seed(3)
torch.manual_seed(3)
encoder, decoder = EncoderRNN(12, 32), AttnDecoderRNN(32, 12)
optimizers = [optim.Adam(m.parameters(), lr=0.01) for m in (encoder, decoder)]
criterion = nn.NLLLoss(ignore_index=PAD)
for step in range(8):
    inputs, lengths, targets = make_batch(16)
    for o in optimizers:
        o.zero_grad()
    outputs, hidden = encoder(inputs, lengths)
    log_probs = decoder(outputs, hidden, inputs == PAD, targets, targets.size(1))
    loss = criterion(log_probs.view(-1, log_probs.size(-1)), targets.view(-1))
    loss.backward()
    for o in optimizers:
        o.step()
    print("step %d loss %.5f" % (step, loss.item()))
encoder.eval(), decoder.eval()
with torch.no_grad():
    inputs, lengths, targets = make_batch(2)
    print(decoder(*encoder(inputs, lengths), inputs == PAD).argmax(-1).tolist())
