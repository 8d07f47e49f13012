"""The settings of every model by family, and the registry. Imports no torch, so that listing them is instant."""

from __future__ import annotations

from glognn.errors import InputError
from glognn.models.configs.base import ModelConfig
from glognn.models.configs.glognn import GloGNNConfig, GloGNNPlusPlusConfig
from glognn.models.configs.handwritten import (
    ACMGCNConfig,
    GGCNConfig,
    GPRGNNConfig,
    H2GCNConfig,
    MLPConfig,
    WRGATConfig,
)
from glognn.models.configs.pyg import (
    DirGNNConfig,
    GATConfig,
    GCNConfig,
    GCNIIConfig,
    LINKXConfig,
    MixHopConfig,
    PolynormerConfig,
    SGFormerConfig,
)
from glognn.settings import suggest

__all__ = [
    "MODELS",
    "ACMGCNConfig",
    "DirGNNConfig",
    "GATConfig",
    "GCNConfig",
    "GCNIIConfig",
    "GGCNConfig",
    "GPRGNNConfig",
    "GloGNNConfig",
    "GloGNNPlusPlusConfig",
    "H2GCNConfig",
    "LINKXConfig",
    "MLPConfig",
    "MixHopConfig",
    "ModelConfig",
    "PolynormerConfig",
    "SGFormerConfig",
    "WRGATConfig",
    "find_model",
]

MODELS: dict[str, type[ModelConfig]] = {
    config.name: config
    for config in (
        GloGNNPlusPlusConfig,
        GloGNNConfig,
        LINKXConfig,
        ACMGCNConfig,
        GGCNConfig,
        GPRGNNConfig,
        WRGATConfig,
        H2GCNConfig,
        DirGNNConfig,
        PolynormerConfig,
        SGFormerConfig,
        GCNIIConfig,
        MixHopConfig,
        GATConfig,
        GCNConfig,
        MLPConfig,
    )
}


def find_model(name: str) -> type[ModelConfig]:
    """The settings class of a model by its name."""
    if name not in MODELS:
        raise InputError(f"There is no model '{name}'.{suggest(name, MODELS)}")
    return MODELS[name]
