"""What is said of settings that cannot be: which one a user may have meant, and why a value is refused."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Mapping
from typing import Any

OTHER_NAMES = {
    "seed": ("random_state", "random_seed"),
    "epochs": ("epoch", "num_epochs", "n_epochs", "max_epochs", "num_train_epochs"),
    "max_steps": ("steps", "num_steps", "n_steps", "max_iter", "max_iters"),
    "patience": ("early_stopping", "early_stopping_patience"),
    "batch_size": ("bs", "batch", "batchsize", "train_batch_size", "per_device_train_batch_size"),
    "accumulation": ("grad_accum", "accumulation_steps", "gradient_accumulation", "gradient_accumulation_steps"),
    "optimizer": ("opt", "optim", "optimiser"),
    "learning_rate": ("lr", "learningrate", "max_lr", "eta"),
    "weight_decay": ("wd", "l2", "decay"),
    "schedule": ("scheduler", "lr_schedule", "lr_scheduler", "lr_scheduler_type"),
    "warmup": ("warmup_ratio", "warmup_steps", "warmup_proportion", "num_warmup_steps"),
    "max_norm": ("grad_clip", "clip_norm", "gradient_clip_val", "max_grad_norm"),
    "clip": ("grad_clip", "clip_norm", "gradient_clip_val", "max_grad_norm"),
    "precision": ("amp", "fp16", "bf16", "dtype", "mixed_precision"),
    "label_smoothing": ("label_smoothing_factor",),
    "class_weights": ("class_weight",),
    "d_model": ("dim", "width", "n_embd", "hidden", "hidden_dim", "hidden_size", "embed_dim", "embedding_dim"),
    "n_layers": ("layers", "depth", "n_layer", "num_layers", "num_hidden_layers"),
    "n_heads": ("heads", "nhead", "n_head", "num_heads", "num_attention_heads"),
    "d_ff": ("d_hidden", "d_mlp", "ffn_dim", "n_inner", "dim_feedforward", "intermediate_size"),
    "max_seq_len": ("window", "seq_len", "max_len", "max_length", "block_size", "context_length", "n_positions"),
    "feed_forward": ("act", "activation", "hidden_act"),
    "dropout": ("drop", "p_dropout", "dropout_rate", "hidden_dropout_prob"),
    "attention_dropout": ("attn_dropout", "attention_probs_dropout_prob"),
    "vocab_size": ("vocab", "max_features", "num_words"),
    "min_frequency": ("min_freq", "min_df"),
    "lowercase": ("lower", "do_lower_case"),
    "fraction": ("val_split", "val_fraction", "validation_split", "test_size"),
    "beta": ("kl_coef", "kl_coeff", "init_kl_coef"),
    "lam": ("lambda", "gae_lambda"),
    "group_size": ("num_generations",),
}
"""The names of our settings in other libraries."""


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known setting that has this name in another library or a similar spelling, or None."""
    settings, written = set(known), name.lower().replace("-", "_")
    for ours, others in OTHER_NAMES.items():
        if ours in settings and written in others:
            return ours
    return next(iter(difflib.get_close_matches(written, sorted(settings), n=1)), None)


def complaint(found: Mapping[str, Any]) -> str:
    """Return why a value of a setting is refused, as one of pydantic's findings says it."""
    value, message = found["input"], found["msg"].removeprefix("Value error, ")
    if isinstance(value, float) and math.isnan(value):  # pydantic says that it should be less than some bound
        return "a number is needed"
    return f"{message[:1].lower()}{message[1:]}"
