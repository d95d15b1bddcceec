"""``torch.utils.model_zoo``: an older name of `minitorch.hub.load_state_dict_from_url`."""

from minitorch.hub import load_state_dict_from_url

__all__ = ["load_url"]

load_url = load_state_dict_from_url
