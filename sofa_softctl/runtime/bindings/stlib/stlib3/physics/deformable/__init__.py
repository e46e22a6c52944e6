"""Deformable objects."""

from stlib3.physics.deformable.elasticmaterialobject import ElasticMaterialObject

__all__ = ["ElasticMaterialObject"]
