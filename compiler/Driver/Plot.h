// `pmapc plot`: curves of arrays as an SVG file, or as text in a terminal.
#pragma once

#include <limits>
#include <string>
#include <vector>

namespace pmap::rt {
struct HostArray;
}

namespace pmap {

/// One curve: its values over 0, 1, 2, … A value that is not finite is a gap.
struct PlotSeries {
  std::string name;
  std::vector<double> values;
};

struct Plot {
  std::string title, xLabel, yLabel;
  /// The vertical axis counts powers of ten; what is not positive is a gap.
  bool logarithmic = false;
  std::vector<PlotSeries> series;

  /// Whether a value has a place on the vertical axis.
  bool shows(double value) const;
};

/// The range of an axis and the places of its ticks, round numbers that lie in it. On a logarithmic axis all are
/// exponents of ten.
struct PlotAxis {
  double low = 0, high = 1;
  std::vector<double> ticks;

  /// The axis of values in [least, most] with about `count` ticks. `widen` lets it end at a tick on both sides.
  static PlotAxis make(double least, double most, int count, bool widen);
  /// Where a value lies, 0 at the low end and 1 at the high one.
  double place(double value) const { return (value / 2 - low / 2) / (high / 2 - low / 2); } // halves do not overflow
};

/// Both axes of a plot. Something must be to show.
PlotAxis horizontalAxis(const Plot &plot, int ticks);
PlotAxis verticalAxis(const Plot &plot, int ticks);
/// A value as the vertical axis counts it.
double verticalValue(const Plot &plot, double value);
/// The text at a tick of the vertical axis.
std::string verticalTickText(const Plot &plot, double tick);
/// A number with as few digits as tell it from its neighbours: 0.25, 40, 1e-05.
std::string tickText(double tick);

/// A document of its own, 720 x 440.
std::string plotAsSvg(const Plot &plot);
/// Lines of text, at most `columns` wide.
std::string plotAsText(const Plot &plot, int columns);

/// Adds the curves of an array: of a vector one, of a matrix one per column. Returns false for any other array.
bool addSeries(const rt::HostArray &array, const std::string &name, std::vector<PlotSeries> &series);

/// Prints a plot as text. Returns the exit status.
int printPlot(const Plot &plot);

struct PlotOptions {
  std::string output, title, xLabel, yLabel;
  bool logarithmic = false;
};

/// Plots the arrays that are named `x.npy`, `x.npz` (every vector in it) or `x.npz:name`: a vector is a curve, and so
/// is each column of a matrix. Writes `output`, a `.svg`, or prints text where there is none. Returns the exit status.
int plotFiles(const std::vector<std::string> &arrays, const PlotOptions &options);

} // namespace pmap
