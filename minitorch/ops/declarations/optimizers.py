"""Whole optimizer steps, and what gradient scaling does around them: what exists."""

from minitorch.ops.registry import FUNCTION, operator

operator(
    "_fused_sgd_(Tensor(a!)[] self, Tensor(b!)[] grads, Tensor(c!)[] momentum_buffer_list, *, "
    "float weight_decay, float momentum, float lr, float dampening, bool nesterov, bool "
    "maximize, bool is_first_step, Tensor? grad_scale=None, Tensor? found_inf=None) -> ()",
    variants=0,
)
operator(
    "_fused_adam_(Tensor(a!)[] self, Tensor(b!)[] grads, Tensor(c!)[] exp_avgs, Tensor(d!)[] "
    "exp_avg_sqs, Tensor(e!)[] max_exp_avg_sqs, Tensor[] state_steps, *, float lr, float beta1, "
    "float beta2, float weight_decay, float eps, bool amsgrad, bool maximize, Tensor? "
    "grad_scale=None, Tensor? found_inf=None) -> ()",
    variants=0,
)
operator(
    "_fused_adamw_(Tensor(a!)[] self, Tensor(b!)[] grads, Tensor(c!)[] exp_avgs, Tensor(d!)[] "
    "exp_avg_sqs, Tensor(e!)[] max_exp_avg_sqs, Tensor[] state_steps, *, float lr, float beta1, "
    "float beta2, float weight_decay, float eps, bool amsgrad, bool maximize, Tensor? "
    "grad_scale=None, Tensor? found_inf=None) -> ()",
    variants=0,
)

# What functionalization calls in their place: the new lists are returned.
operator(
    "_fused_sgd(Tensor[] self, Tensor[] grads, Tensor[] momentum_buffer_list, *, float weight_decay, float "
    "momentum, float lr, float dampening, bool nesterov, bool maximize, bool is_first_step, Tensor? "
    "grad_scale=None, Tensor? found_inf=None) -> (Tensor[] self_out, Tensor[] grads_out, Tensor[] "
    "momentum_buffer_list_out)",
    variants=0,
)
operator(
    "_fused_adam(Tensor[] self, Tensor[] grads, Tensor[] exp_avgs, Tensor[] exp_avg_sqs, Tensor[] "
    "max_exp_avg_sqs, Tensor[] state_steps, *, float lr, float beta1, float beta2, float weight_decay, "
    "float eps, bool amsgrad, bool maximize, Tensor? grad_scale=None, Tensor? found_inf=None) -> (Tensor[] "
    "self_out, Tensor[] grads_out, Tensor[] exp_avgs_out, Tensor[] exp_avg_sqs_out, Tensor[] "
    "max_exp_avg_sqs_out)",
    variants=0,
)
operator(
    "_fused_adamw(Tensor[] self, Tensor[] grads, Tensor[] exp_avgs, Tensor[] exp_avg_sqs, Tensor[] "
    "max_exp_avg_sqs, Tensor[] state_steps, *, float lr, float beta1, float beta2, float weight_decay, "
    "float eps, bool amsgrad, bool maximize, Tensor? grad_scale=None, Tensor? found_inf=None) -> (Tensor[] "
    "self_out, Tensor[] grads_out, Tensor[] exp_avgs_out, Tensor[] exp_avg_sqs_out, Tensor[] "
    "max_exp_avg_sqs_out)",
    variants=0,
)

# Gradient scaling (`amp.GradScaler`): gradients are unscaled and looked at, the scale follows what was found.
operator(
    "_amp_foreach_non_finite_check_and_unscale_(Tensor(a!)[] self, Tensor(b!) found_inf, Tensor inv_scale) -> ()",
    variants=FUNCTION,
)
operator(
    "_amp_update_scale_(Tensor(a!) self, Tensor(b!) growth_tracker, Tensor found_inf, float scale_growth_factor, "
    "float scale_backoff_factor, int growth_interval) -> Tensor(a!)",
    variants=FUNCTION,
)
operator(
    "_amp_foreach_non_finite_check_and_unscale(Tensor[] self, Tensor found_inf, Tensor inv_scale) -> (Tensor[] self_out, "
    "Tensor found_inf_out)",
    variants=0,
)
operator(
    "_amp_update_scale(Tensor self, Tensor growth_tracker, Tensor found_inf, float scale_growth_factor, float "
    "scale_backoff_factor, int growth_interval) -> (Tensor, Tensor growth_tracker_out)",
    variants=0,
)
