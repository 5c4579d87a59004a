"""A chart that is done: turned into what the browser gets once, however often a page draws it."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go


class Drawn(go.Figure):  # type: ignore[misc] # Plotly has no types
    """A figure that no longer changes. Plotly copies a figure whole, and looks at every value, at each drawing."""

    def __init__(self, figure: go.Figure) -> None:
        super().__init__(figure)
        object.__setattr__(self, "_sent", figure.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """Give what the browser gets; shared, so not to be changed."""
        made: dict[str, Any] = self._sent
        return made
