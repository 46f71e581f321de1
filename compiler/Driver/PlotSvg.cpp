// A plot as an SVG document. It uses no style sheet and no font of its own, so that every viewer shows it alike.

#include "compiler/Driver/Plot.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace pmap {
namespace {

constexpr double width = 720, height = 440;
constexpr double left = 72, right = 24, top = 44, bottom = 56;

/// Colours that people with the common colour blindnesses tell apart (Okabe and Ito, "Color Universal Design", 2008).
constexpr const char *colours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"};

std::string escaped(const std::string &text) {
  std::string result;
  for (char c : text) {
    switch (c) {
    case '<':
      result += "&lt;";
      break;
    case '>':
      result += "&gt;";
      break;
    case '&':
      result += "&amp;";
      break;
    default:
      result += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
    }
  }
  return result;
}

/// A coordinate with two digits behind the point.
std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", value);
  return text;
}

std::string line(double x1, double y1, double x2, double y2, const std::string &style) {
  return "<line x1=\"" + number(x1) + "\" y1=\"" + number(y1) + "\" x2=\"" + number(x2) + "\" y2=\"" + number(y2) +
         "\" " + style + "/>\n";
}

std::string text(double x, double y, const std::string &anchor, const std::string &content,
                 const std::string &more = "") {
  return "<text x=\"" + number(x) + "\" y=\"" + number(y) + "\" text-anchor=\"" + anchor + "\"" + more + ">" +
         escaped(content) + "</text>\n";
}

/// Which values of a series are drawn. Where hundreds fall on one point of the plot's width, the first, least, greatest
/// and last of each such stretch are all that can be seen; the gaps stay.
std::vector<size_t> drawn(const Plot &plot, const std::vector<double> &values) {
  constexpr size_t stretches = 1440; // two per point
  std::vector<size_t> result;
  size_t length = values.size() / stretches;
  if (length < 8) {
    for (size_t i = 0; i < values.size(); ++i)
      result.push_back(i);
    return result;
  }
  for (size_t from = 0; from < values.size(); from += length) {
    size_t to = std::min(from + length, values.size()), least = from, greatest = from, gap = to;
    for (size_t i = from; i < to; ++i) {
      if (!plot.shows(values[i])) {
        gap = i;
        continue;
      }
      if (!plot.shows(values[least]) || values[i] < values[least])
        least = i;
      if (!plot.shows(values[greatest]) || values[i] > values[greatest])
        greatest = i;
    }
    std::vector<size_t> kept = {from, least, greatest, to - 1};
    if (gap < to)
      kept.push_back(gap);
    std::sort(kept.begin(), kept.end());
    kept.erase(std::unique(kept.begin(), kept.end()), kept.end());
    result.insert(result.end(), kept.begin(), kept.end());
  }
  return result;
}

/// The curve of a series: one path, with a new beginning after each gap. A value between two gaps is a dot.
std::string curve(const Plot &plot, const PlotSeries &series, const PlotAxis &x, const PlotAxis &y,
                  const std::string &colour) {
  std::string path, dots;
  std::vector<size_t> places = drawn(plot, series.values);
  auto has = [&](size_t k) { return k < places.size() && plot.shows(series.values[places[k]]); };
  for (size_t k = 0; k < places.size(); ++k) {
    if (!has(k))
      continue;
    double value = verticalValue(plot, series.values[places[k]]);
    std::string px = number(left + x.place(static_cast<double>(places[k])) * (width - left - right));
    std::string py = number(height - bottom - y.place(value) * (height - top - bottom));
    bool begins = k == 0 || !has(k - 1);
    if (begins && !has(k + 1))
      dots += "<circle cx=\"" + px + "\" cy=\"" + py + "\" r=\"2.5\" fill=\"" + colour + "\"/>\n";
    else
      path += (begins ? "M" : "L") + px + " " + py;
  }
  if (!path.empty())
    path = "<path d=\"" + path + "\" fill=\"none\" stroke=\"" + colour +
           "\" stroke-width=\"2\" stroke-linejoin=\"round\"/>\n";
  return path + dots;
}

/// Names beside pieces of line, in the upper right corner.
std::string legend(const Plot &plot) {
  std::string result;
  double y = top + 18;
  for (size_t i = 0; i < plot.series.size(); ++i, y += 18) {
    std::string style = std::string("stroke=\"") + colours[i % std::size(colours)] + "\" stroke-width=\"3\"";
    result += line(width - right - 34, y - 4, width - right - 10, y - 4, style);
    result += text(width - right - 42, y, "end", plot.series[i].name);
  }
  return result;
}

} // namespace

std::string plotAsSvg(const Plot &plot) {
  PlotAxis x = horizontalAxis(plot, 8), y = verticalAxis(plot, 6);
  double innerWidth = width - left - right, innerHeight = height - top - bottom;
  std::string svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"720\" height=\"440\" viewBox=\"0 0 720 440\" "
                    "font-family=\"sans-serif\" font-size=\"13\" fill=\"#333\">\n"
                    "<rect width=\"720\" height=\"440\" fill=\"#fff\"/>\n";
  svg += text(left + innerWidth / 2, 26, "middle", plot.title, " font-size=\"16\"");
  for (double tick : y.ticks) {
    double at = height - bottom - y.place(tick) * innerHeight;
    svg += line(left, at, width - right, at, "stroke=\"#ddd\"");
    svg += text(left - 8, at + 4.5, "end", verticalTickText(plot, tick));
  }
  for (double tick : x.ticks) {
    double at = left + x.place(tick) * innerWidth;
    svg += line(at, height - bottom, at, height - bottom + 5, "stroke=\"#333\"");
    svg += text(at, height - bottom + 20, "middle", tickText(tick));
  }
  svg += line(left, height - bottom, width - right, height - bottom, "stroke=\"#333\"");
  svg += line(left, top, left, height - bottom, "stroke=\"#333\"");
  svg += text(left + innerWidth / 2, height - 14, "middle", plot.xLabel);
  if (!plot.yLabel.empty())
    svg += text(0, 0, "middle", plot.yLabel,
                " transform=\"translate(18 " + number(top + innerHeight / 2) + ") rotate(-90)\"");
  for (size_t i = 0; i < plot.series.size(); ++i)
    svg += curve(plot, plot.series[i], x, y, colours[i % std::size(colours)]);
  if (plot.series.size() > 1)
    svg += legend(plot);
  return svg + "</svg>\n";
}

} // namespace pmap
