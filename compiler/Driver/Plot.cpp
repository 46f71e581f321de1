// Reads the arrays that `pmapc plot` is given, and writes the plot.

#include "compiler/Driver/Plot.h"

#include "compiler/Driver/Output.h"

#include "pmap/runtime.h"
#include "runtime/io/Elements.h"
#include "runtime/io/Files.h"

#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"

namespace pmap {
namespace {

int fail(const std::string &message, const std::string &subject = "") {
  llvm::errs() << rt::Problem{"E1029", subject, message, {}}.render();
  return 2;
}

double elementOf(const rt::HostArray &array, int64_t index) {
  switch (rt::kindOf(array.dtype)) {
  case 'f':
    return rt::loadFloat(array.dtype, array.data, index);
  case 'u':
    return static_cast<double>(rt::loadUnsigned(array.dtype, array.data, index));
  default:
    return static_cast<double>(rt::loadSigned(array.dtype, array.data, index));
  }
}

/// More curves than this are no plot; a matrix with many columns is a mistake.
constexpr size_t mostSeries = 24;

/// Whether a plot of these curves would show anything. Returns an exit status.
int checkSeries(const Plot &plot) {
  if (plot.series.size() > mostSeries)
    return fail("expected at most " + std::to_string(mostSeries) + " curves, got " +
                std::to_string(plot.series.size()));
  bool any = false, empty = true;
  for (const PlotSeries &series : plot.series)
    for (double value : series.values) {
      any |= plot.shows(value);
      empty = false;
    }
  if (empty)
    return fail(plot.series.size() <= 1 ? "the array has no elements" : "the arrays have no elements");
  if (!any)
    return fail(plot.logarithmic ? "no element is positive and finite" : "no element is finite");
  return 0;
}

/// Reads `x.npy`, `x.npz` or `x.npz:name`. Returns an exit status.
int readSeries(const std::string &text, std::vector<PlotSeries> &series) {
  auto refuse = [](const rt::Problem &problem) {
    llvm::errs() << problem.render();
    return 2;
  };
  auto add = [&](rt::HostArray &array, const std::string &subject, const std::string &name) {
    bool fits = addSeries(array, name, series);
    std::string type = rt::typeText(array.dtype, array.sizes);
    array.release();
    return fits ? 0 : fail("expected a vector, or a matrix whose columns are curves, got " + type, subject);
  };
  rt::HostArray array;
  size_t colon = text.rfind(".npz:");
  if (colon == std::string::npos && !llvm::StringRef(text).ends_with(".npz")) {
    if (rt::Problem problem = rt::readNpy(text, array))
      return refuse(problem);
    return add(array, text, llvm::sys::path::stem(text).str());
  }
  rt::Archive archive;
  std::string file = colon == std::string::npos ? text : text.substr(0, colon + 4);
  if (rt::Problem problem = archive.open(file))
    return refuse(problem);
  if (colon != std::string::npos) {
    std::string name = text.substr(colon + 5);
    if (rt::Problem problem = archive.read(name, array))
      return refuse(problem);
    return add(array, text, name);
  }
  size_t before = series.size();
  for (const std::string &name : archive.names()) {
    rt::HostArray entry;
    if (rt::Problem problem = archive.read(name, entry))
      return refuse(problem);
    if (entry.sizes.size() == 1)
      addSeries(entry, name, series);
    entry.release();
  }
  return series.size() > before ? 0 : fail("no array in the archive is a vector", file);
}

} // namespace

bool addSeries(const rt::HostArray &array, const std::string &name, std::vector<PlotSeries> &series) {
  size_t rank = array.sizes.size();
  if ((rank != 1 && rank != 2) || rt::kindOf(array.dtype) == 'k')
    return false;
  int64_t columns = rank == 2 ? array.sizes[1] : 1;
  for (int64_t column = 0; column < columns; ++column) {
    PlotSeries &added = series.emplace_back();
    added.name = rank == 2 ? name + "[:, " + std::to_string(column) + "]" : name;
    for (int64_t i = 0; i < array.sizes[0]; ++i)
      added.values.push_back(elementOf(array, i * columns + column));
  }
  return true;
}

int plotFiles(const std::vector<std::string> &arrays, const PlotOptions &options) {
  if (!options.output.empty() && !llvm::StringRef(options.output).ends_with(".svg"))
    return fail("plots are written as .svg, got '" + options.output + "'");
  if (int status = options.output.empty() ? 0 : checkOutput(options.output))
    return status;
  Plot plot{options.title, options.xLabel, options.yLabel, options.logarithmic, {}};
  pmap_rt_start(1, 1);
  int status = 0;
  for (const std::string &text : arrays)
    status = status ? status : readSeries(text, plot.series);
  pmap_rt_stop();
  if (status)
    return status;
  if (int status = checkSeries(plot))
    return status;
  if (plot.title.empty() && plot.series.size() == 1)
    plot.title = plot.series.front().name;
  if (!options.output.empty())
    return writeOutput(options.output, plotAsSvg(plot));
  return printPlot(plot);
}

int printPlot(const Plot &plot) {
  if (int status = checkSeries(plot))
    return status;
  unsigned columns = llvm::sys::Process::StandardOutColumns();
  llvm::outs() << plotAsText(plot, columns ? static_cast<int>(std::min(columns, 160u)) : 80);
  return 0;
}

} // namespace pmap
