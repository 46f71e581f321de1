// Axes of plots: ranges, round ticks, and their texts.

#include "compiler/Driver/Plot.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace pmap {

bool Plot::shows(double value) const { return std::isfinite(value) && (!logarithmic || value > 0); }

double verticalValue(const Plot &plot, double value) { return plot.logarithmic ? std::log10(value) : value; }

PlotAxis PlotAxis::make(double least, double most, int count, bool widen) {
  // A lone value lies in the middle of an axis that is as long as the value is large.
  if (!(most - least > 1e-12 * std::max(std::fabs(least), std::fabs(most)))) {
    double margin = least == 0 ? 1 : std::fabs(least) / 2;
    least -= margin;
    most += margin;
  }
  // Steps are 1, 2 or 5 times a power of ten. Halves first: the ends of the largest f64 have no difference.
  double rough = (most / 2 - least / 2) / count * 2;
  double power = std::pow(10.0, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (double factor : {5.0, 2.0, 1.0})
    if (factor * power >= rough * 0.999)
      step = factor * power;
  PlotAxis axis;
  double first = std::ceil(least / step - 1e-9), last = std::floor(most / step + 1e-9);
  if (widen) {
    first = std::floor(least / step + 1e-9);
    last = std::ceil(most / step - 1e-9);
  }
  // Beyond the largest f64 there is no round number.
  if (!std::isfinite(first * step))
    ++first;
  if (!std::isfinite(last * step))
    --last;
  axis.low = widen ? std::min(first * step, least) : least;
  axis.high = widen ? std::max(last * step, most) : most;
  for (double at = first; at <= last; ++at)
    axis.ticks.push_back(at * step);
  return axis;
}

PlotAxis horizontalAxis(const Plot &plot, int ticks) {
  size_t longest = 1;
  for (const PlotSeries &series : plot.series)
    longest = std::max(longest, series.values.size());
  PlotAxis axis = PlotAxis::make(0, std::max<double>(static_cast<double>(longest) - 1, 1), ticks, false);
  // Places are whole numbers.
  std::erase_if(axis.ticks, [](double tick) { return tick != std::round(tick); });
  return axis;
}

/// The axis of exponents of ten in [least, most]: ticks at 1, 2 and 5 times each power where these are few, else at the
/// powers.
static PlotAxis logarithmicAxis(double least, double most, int count) {
  if (most - least > count)
    return PlotAxis::make(least, most, count, true);
  PlotAxis axis;
  std::vector<double> all;
  bool fine = most - least < count / 3.0;
  for (double power = std::floor(least); power <= std::ceil(most); ++power)
    for (double factor : {1.0, 2.0, 5.0})
      if (fine || factor == 1)
        all.push_back(power + std::log10(factor));
  // From the last tick that is not above the least value to the first that is not below the greatest, two at least.
  size_t first = 0, last = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i] <= least + 1e-9)
      first = i;
    if (all[last] < most - 1e-9)
      last = i;
  }
  last = std::min(std::max(last, first + 1), all.size() - 1);
  axis.ticks.assign(all.begin() + static_cast<std::ptrdiff_t>(first),
                    all.begin() + static_cast<std::ptrdiff_t>(last) + 1);
  axis.low = axis.ticks.front();
  axis.high = axis.ticks.back();
  return axis;
}

PlotAxis verticalAxis(const Plot &plot, int ticks) {
  double least = std::numeric_limits<double>::infinity(), most = -least;
  for (const PlotSeries &series : plot.series)
    for (double value : series.values)
      if (plot.shows(value)) {
        least = std::min(least, verticalValue(plot, value));
        most = std::max(most, verticalValue(plot, value));
      }
  return plot.logarithmic ? logarithmicAxis(least, most, ticks) : PlotAxis::make(least, most, ticks, true);
}

std::string tickText(double tick) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", tick == 0 ? 0.0 : tick);
  return text;
}

std::string verticalTickText(const Plot &plot, double tick) {
  return tickText(plot.logarithmic ? std::pow(10.0, tick) : tick);
}

} // namespace pmap
