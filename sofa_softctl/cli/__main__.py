"""`python -m sofa_softctl.cli`."""

from sofa_softctl.cli.app import main

main()
