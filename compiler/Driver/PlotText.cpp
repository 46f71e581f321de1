// A plot as lines of text.

#include "compiler/Driver/Plot.h"

#include <algorithm>
#include <cmath>

namespace pmap {
namespace {

constexpr int rows = 16;
constexpr char marks[] = "*o+x#@";

/// The mean of what falls into one column, so that a long curve is not a sample of it; NaN for nothing. A curve shorter
/// than the plot is read between its points.
double columnValue(const Plot &plot, const PlotSeries &series, double from, double to) {
  double sum = 0;
  int count = 0;
  for (auto i = static_cast<size_t>(std::max(std::ceil(from), 0.0));
       i < series.values.size() && static_cast<double>(i) < to; ++i)
    if (plot.shows(series.values[i])) {
      sum += verticalValue(plot, series.values[i]);
      ++count;
    }
  if (count > 0)
    return sum / count;
  double middle = (from + to) / 2, before = std::floor(middle);
  auto i = static_cast<size_t>(std::max(before, 0.0));
  if (i + 1 >= series.values.size() || !plot.shows(series.values[i]) || !plot.shows(series.values[i + 1]))
    return std::nan("");
  double a = verticalValue(plot, series.values[i]), b = verticalValue(plot, series.values[i + 1]);
  return a + (b - a) * (middle - before);
}

} // namespace

std::string plotAsText(const Plot &plot, int columns) {
  PlotAxis y = verticalAxis(plot, 5);
  size_t margin = 0;
  for (double tick : y.ticks)
    margin = std::max(margin, verticalTickText(plot, tick).size());
  int inner = std::max(columns - static_cast<int>(margin) - 2, 16);
  PlotAxis x = horizontalAxis(plot, std::max(inner / 12, 1));

  std::vector<std::string> canvas(rows, std::string(static_cast<size_t>(inner), ' '));
  double each = (x.high - x.low) / (inner - 1);
  for (size_t s = 0; s < plot.series.size(); ++s)
    for (int column = 0; column < inner; ++column) {
      double middle = x.low + column * each;
      double value = columnValue(plot, plot.series[s], middle - each / 2, middle + each / 2);
      if (!std::isnan(value))
        canvas[static_cast<size_t>(std::lround((1 - y.place(value)) * (rows - 1)))][static_cast<size_t>(column)] =
            marks[s % (sizeof marks - 1)];
    }

  std::string text;
  if (!plot.title.empty())
    text += std::string(margin + 2, ' ') + plot.title + "\n";
  for (int row = 0; row < rows; ++row) {
    std::string label;
    for (double tick : y.ticks)
      if (std::lround((1 - y.place(tick)) * (rows - 1)) == row)
        label = verticalTickText(plot, tick);
    std::string &content = canvas[static_cast<size_t>(row)];
    content.erase(content.find_last_not_of(' ') + 1);
    text += std::string(margin - label.size(), ' ') + label + (label.empty() ? " |" : " +") + content + "\n";
  }
  text += std::string(margin + 1, ' ') + "+" + std::string(static_cast<size_t>(inner), '-') + "\n";
  std::string labels(margin + 2 + static_cast<size_t>(inner), ' ');
  size_t free = 0;
  for (double tick : x.ticks) {
    std::string label = tickText(tick);
    auto at = margin + 2 + static_cast<size_t>(std::lround(x.place(tick) * (inner - 1)));
    at = std::min(at, labels.size() - label.size());
    if (at < free)
      continue;
    labels.replace(at, label.size(), label);
    free = at + label.size() + 1;
  }
  labels.erase(labels.find_last_not_of(' ') + 1);
  text += labels + "\n";
  if (plot.series.size() > 1)
    for (size_t s = 0; s < plot.series.size(); ++s)
      text += std::string(margin + 2, ' ') + marks[s % (sizeof marks - 1)] + " " + plot.series[s].name + "\n";
  return text;
}

} // namespace pmap
