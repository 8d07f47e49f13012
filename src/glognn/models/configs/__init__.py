"""The settings of every model by family, and the registry. Imports no torch, so that listing them is instant."""

from __future__ import annotations

from glognn.errors import InputError
from glognn.models.configs import glognn, handwritten, pyg, trees
from glognn.models.configs.base import ModelConfig
from glognn.models.configs.glognn import GloGNN2Config, GloGNNConfig, GloGNNPlusPlusConfig
from glognn.settings import suggest

__all__ = ["MODELS", "GloGNN2Config", "GloGNNConfig", "GloGNNPlusPlusConfig", "ModelConfig", "find_model"]

MODELS: dict[str, type[ModelConfig]] = {
    config.name: config
    for config in (
        glognn.GloGNN2Config,
        glognn.GloGNNPlusPlusConfig,
        glognn.GloGNNConfig,
        pyg.LINKXConfig,
        handwritten.ACMGCNConfig,
        handwritten.GGCNConfig,
        handwritten.GPRGNNConfig,
        handwritten.WRGATConfig,
        handwritten.H2GCNConfig,
        pyg.GCNPlusConfig,
        pyg.SAGEPlusConfig,
        pyg.GATPlusConfig,
        pyg.DirGNNConfig,
        pyg.PolynormerConfig,
        pyg.SGFormerConfig,
        pyg.GCNIIConfig,
        pyg.MixHopConfig,
        pyg.GATConfig,
        pyg.GCNConfig,
        trees.TreesConfig,
        handwritten.MLPConfig,
    )
}


def find_model(name: str) -> type[ModelConfig]:
    """The settings class of a model by its name."""
    if name not in MODELS:
        raise InputError(f"There is no model '{name}'.{suggest(name, MODELS)}")
    return MODELS[name]
