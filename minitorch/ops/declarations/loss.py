"""Losses: what exists."""

from minitorch.ops.registry import FUNCTION, operator

operator(
    "nll_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt "
    "ignore_index=-100) -> Tensor",
    out="nll_loss.out", variants=FUNCTION, python_module="nn",
)
operator(
    "nll_loss_nd(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt "
    "ignore_index=-100) -> Tensor",
    variants=FUNCTION, python_module="nn",
)
operator(
    "nll_loss_forward(Tensor self, Tensor target, Tensor? weight, int reduction, SymInt "
    "ignore_index) -> (Tensor output, Tensor total_weight)",
    out="nll_loss_forward.output", out_names=("output", "total_weight"), variants=0,
)
operator(
    "nll_loss_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? weight, int "
    "reduction, SymInt ignore_index, Tensor total_weight) -> Tensor",
    out="nll_loss_backward.grad_input", out_names=("grad_input",), variants=0,
)
operator(
    "nll_loss2d(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt "
    "ignore_index=-100) -> Tensor",
    out="nll_loss2d.out", variants=FUNCTION, python_module="nn",
)
operator(
    "nll_loss2d_forward(Tensor self, Tensor target, Tensor? weight, int reduction, SymInt "
    "ignore_index) -> (Tensor output, Tensor total_weight)",
    out="nll_loss2d_forward.output", out_names=("output", "total_weight"), variants=0,
)
operator(
    "nll_loss2d_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? weight, int "
    "reduction, SymInt ignore_index, Tensor total_weight) -> Tensor",
    out="nll_loss2d_backward.grad_input", out_names=("grad_input",), variants=0,
)
operator(
    "cross_entropy_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, "
    "SymInt ignore_index=-100, float label_smoothing=0.) -> Tensor",
    variants=FUNCTION, python_module="nn",
)
operator(
    "multi_margin_loss(Tensor self, Tensor target, Scalar p=1, Scalar margin=1, Tensor? "
    "weight=None, int reduction=1) -> Tensor",
    out="multi_margin_loss.out", variants=FUNCTION, python_module="nn",
)
operator(
    "multilabel_margin_loss(Tensor self, Tensor target, int reduction=1) -> Tensor",
    out="multilabel_margin_loss.out", variants=FUNCTION, python_module="nn",
)
operator(
    "mse_loss(Tensor self, Tensor target, int reduction=1) -> Tensor",
    out="mse_loss.out", variants=FUNCTION, python_module="nn",
)
operator(
    "mse_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction) -> "
    "Tensor",
    out="mse_loss_backward.grad_input", out_names=("grad_input",), variants=0,
)
operator(
    "l1_loss(Tensor self, Tensor target, int reduction=1) -> Tensor",
    variants=FUNCTION, python_module="nn",
)
operator(
    "smooth_l1_loss(Tensor self, Tensor target, int reduction=1, float beta=1.) -> Tensor",
    out="smooth_l1_loss.out", variants=FUNCTION, python_module="nn",
)
operator(
    "smooth_l1_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction, "
    "float beta) -> Tensor",
    out="smooth_l1_loss_backward.grad_input", out_names=("grad_input",), variants=0,
)
operator(
    "huber_loss(Tensor self, Tensor target, int reduction=1, float delta=1.) -> Tensor",
    out="huber_loss.out", variants=FUNCTION, python_module="nn",
)
operator(
    "huber_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction, "
    "float delta) -> Tensor",
    out="huber_loss_backward.out", out_names=("grad_input",), variants=0,
)
operator(
    "binary_cross_entropy(Tensor self, Tensor target, Tensor? weight=None, int reduction=1) "
    "-> Tensor",
    out="binary_cross_entropy.out", variants=FUNCTION, python_module="nn",
)
operator(
    "binary_cross_entropy_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? "
    "weight=None, int reduction=1) -> Tensor",
    out="binary_cross_entropy_backward.grad_input", out_names=("grad_input",), variants=0,
)
operator(
    "binary_cross_entropy_with_logits(Tensor self, Tensor target, Tensor? weight=None, "
    "Tensor? pos_weight=None, int reduction=1) -> Tensor",
    out="binary_cross_entropy_with_logits.out", variants=FUNCTION,
)
operator(
    "kl_div(Tensor self, Tensor target, int reduction=1, *, bool log_target=False) -> Tensor",
    variants=FUNCTION,
)
operator(
    "poisson_nll_loss(Tensor input, Tensor target, bool log_input, bool full, float eps, int "
    "reduction) -> Tensor",
    variants=FUNCTION,
)
operator(
    "soft_margin_loss(Tensor self, Tensor target, int reduction=1) -> Tensor",
    out="soft_margin_loss.out", variants=FUNCTION, python_module="nn",
)
operator(
    "hinge_embedding_loss(Tensor self, Tensor target, float margin=1., int reduction=1) -> "
    "Tensor",
    variants=FUNCTION,
)
operator(
    "margin_ranking_loss(Tensor input1, Tensor input2, Tensor target, float margin=0., int "
    "reduction=1) -> Tensor",
    variants=FUNCTION,
)
operator(
    "cosine_embedding_loss(Tensor input1, Tensor input2, Tensor target, float margin=0., int "
    "reduction=1) -> Tensor",
    variants=FUNCTION,
)
operator(
    "triplet_margin_loss(Tensor anchor, Tensor positive, Tensor negative, float margin=1., "
    "float p=2., float eps=9.9999999999999995e-07, bool swap=False, int reduction=1) -> "
    "Tensor",
    variants=FUNCTION,
)
operator(
    "pairwise_distance(Tensor x1, Tensor x2, float p=2., float eps=9.9999999999999995e-07, "
    "bool keepdim=False) -> Tensor",
    variants=FUNCTION,
)
operator(
    "cosine_similarity(Tensor x1, Tensor x2, int dim=1, float eps=1e-08) -> Tensor",
    variants=FUNCTION,
)
operator("pdist(Tensor self, float p=2.) -> Tensor", variants=FUNCTION)
operator(
    "cdist(Tensor x1, Tensor x2, float p=2., int? compute_mode=None) -> Tensor", variants=FUNCTION
)
operator(
    "_cdist_forward(Tensor x1, Tensor x2, float p, int? compute_mode) -> Tensor",
    out="_cdist_forward.out", variants=FUNCTION,
)
operator(
    "_cdist_backward(Tensor grad, Tensor x1, Tensor x2, float p, Tensor cdist) -> Tensor",
    out="_cdist_backward.out", variants=FUNCTION,
)
operator(
    "ctc_loss.IntList(Tensor log_probs, Tensor targets, int[] input_lengths, int[] "
    "target_lengths, int blank=0, int reduction=1, bool zero_infinity=False) -> Tensor",
    variants=FUNCTION,
)
operator(
    "ctc_loss.Tensor(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor "
    "target_lengths, int blank=0, int reduction=1, bool zero_infinity=False) -> Tensor",
    variants=FUNCTION,
)
operator(
    "_ctc_loss(Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, "
    "int blank=0, bool zero_infinity=False) -> (Tensor, Tensor)",
    out="_ctc_loss.out", out_names=("out0", "out1"), variants=FUNCTION,
)
operator(
    "_ctc_loss.Tensor(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor "
    "target_lengths, int blank=0, bool zero_infinity=False) -> (Tensor, Tensor)",
    out="_ctc_loss.Tensor_out", out_names=("out0", "out1"), variants=FUNCTION,
)
operator(
    "_ctc_loss_backward(Tensor grad, Tensor log_probs, Tensor targets, int[] input_lengths, "
    "int[] target_lengths, Tensor neg_log_likelihood, Tensor log_alpha, int blank, bool "
    "zero_infinity=False) -> Tensor",
    out="_ctc_loss_backward.out", variants=0,
)
operator(
    "_ctc_loss_backward.Tensor(Tensor grad, Tensor log_probs, Tensor targets, Tensor "
    "input_lengths, Tensor target_lengths, Tensor neg_log_likelihood, Tensor log_alpha, int "
    "blank, bool zero_infinity=False) -> Tensor",
    variants=0,
)
