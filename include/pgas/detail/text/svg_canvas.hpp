// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdio>
#include <pgas/vocabulary/expects.hpp>
#include <string>

namespace PGAS_NAMESPACE::detail {

/// A drawing that is written as SVG; lengths are pixels.
class svg_canvas {
 public:
  void rect(double x, double y, double width, double height, std::string const& style) {
    body_ += "<rect x='" + number(x) + "' y='" + number(y) + "' width='" + number(width) + "' height='" +
             number(height) + "' " + style + "/>\n";
  }
  void line(double x1, double y1, double x2, double y2, std::string const& style) {
    body_ += "<line x1='" + number(x1) + "' y1='" + number(y1) + "' x2='" + number(x2) + "' y2='" +
             number(y2) + "' " + style + "/>\n";
  }
  /// `points` are the corners, as "x,y x,y ...".
  void polygon(std::string const& points, std::string const& style) {
    body_ += "<polygon points='" + points + "' " + style + "/>\n";
  }
  /// Begins a group that shows the text `says` under the pointer; end_group() ends it.
  void begin_group(std::string const& says) { body_ += "<g><title>" + says + "</title>\n"; }
  void end_group() { body_ += "</g>\n"; }
  /// `look` names classes of the style sheet below.
  void text(double x, double y, std::string const& what, std::string const& look,
            std::string const& more = "") {
    body_ += "<text x='" + number(x) + "' y='" + number(y) + "' class='" + look + "' " + more + ">";
    for (char const c : what) body_ += c == '<' ? "&lt;" : c == '&' ? "&amp;" : std::string(1, c);
    body_ += "</text>\n";
  }
  [[nodiscard]] std::string finished(double width, double height) const {
    return "<svg xmlns='http://www.w3.org/2000/svg' width='" + number(width) + "' height='" + number(height) +
           "' viewBox='0 0 " + number(width) + " " + number(height) +
           "'>\n"
           "<style>text{font-family:Inter,'Helvetica Neue',Helvetica,Arial,sans-serif;fill:#1f2933}"
           ".title{font-size:22px;font-weight:600}.head{font-size:15px;font-weight:600}"
           ".note{font-size:12px;fill:#6b7785}.small{font-size:11px;fill:#6b7785}.label{font-size:13px}"
           ".middle{text-anchor:middle;dominant-baseline:central}.end{text-anchor:end;dominant-baseline:"
           "central}"
           ".start{dominant-baseline:central}.light{fill:#ffffff}</style>\n" +
           "<rect width='100%' height='100%' fill='#ffffff'/>\n" + body_ + "</svg>\n";
  }

  [[nodiscard]] static std::string number(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.5g", value);
    return text;
  }

 private:
  std::string body_;
};

}  // namespace PGAS_NAMESPACE::detail
