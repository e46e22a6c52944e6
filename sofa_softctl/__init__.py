"""Control of soft robots in SOFA scenes, with or without SOFA installed."""
