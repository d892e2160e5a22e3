# SPDX-License-Identifier: Apache-2.0
"""The report as one HTML file that needs nothing else: no network, no server.

Bokeh draws on a canvas, so that tens of thousands of boxes stay fluid; its script is part of the file.
"""

from fpgart.watch.page.document import as_html

__all__ = ["as_html"]
