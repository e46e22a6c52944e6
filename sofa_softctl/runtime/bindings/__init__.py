"""The modules `Sofa`, `Sofa.Core`, `SofaRuntime`, ... of the embedded runtime."""
