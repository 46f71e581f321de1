// Small products that add up, as those of convolutions: a tile of C stays in registers while all of its terms are
// added. A is read where it lies; of B, columns that fill vectors lie one behind the other, copied so once for all
// parts where it is small, and block by block where it is long.
//
// The order of the additions depends on sizes only, never on threads.

#include "runtime/blas/Batch.h"
#include "runtime/blas/TileKernels.h"

#include "pmap/runtime.h"

#include <algorithm>
#include <cstdlib>

namespace pmap::rt {
namespace {

constexpr int32_t mostLoops = 16;
/// Multiplications in a product that is large enough for the BLAS.
constexpr int64_t largeProduct = 1 << 21;
/// Elements of a copy of B, and of the parts of C, that fit the second cache.
constexpr int64_t mostCopied = 1 << 20, mostKept = 1 << 16;
/// Terms of a sum that are added before the next tile of C.
constexpr int64_t blockTerms = 256;
/// Fewer parts of C than these are not spread over threads where their pieces meet: then each trip of the loops that
/// move in C is.
constexpr int64_t fewParts = 8;

struct Loops {
  BatchLoop loops[mostLoops];
  int32_t number = 0;
  int64_t count = 1;

  void add(const BatchLoop &loop) {
    loops[number++] = loop;
    count *= loop.extent;
  }
  BatchLoop place(int64_t index) const { return placeOf(loops, number, index); }
  int64_t reach() const {
    int64_t sum = 0;
    for (int32_t loop = 0; loop < number; ++loop)
      sum += (loops[loop].extent - 1) * std::abs(loops[loop].c);
    return sum;
  }
};

template <typename T> class TiledBatch {
public:
  explicit TiledBatch(const Batch<T> &batch) : batch(batch), kernels(findTileKernels<T>()) {}

  bool run() {
    if (batch.outerCount + batch.summedCount > mostLoops || batch.work() > largeProduct)
      return false;
    bool sharesB = true;
    for (int32_t loop = 0; loop < batch.outerCount; ++loop)
      sharesB &= batch.outer[loop].b == 0 || batch.outer[loop].extent == 1;
    for (int32_t loop = 0; loop < batch.summedCount; ++loop) {
      if (batch.summed[loop].extent > 1)
        (batch.summed[loop].c != 0 ? moving : fixed).add(batch.summed[loop]);
    }
    splitOuter();
    columns = (batch.j.extent + kernels.lanes - 1) / kernels.lanes * kernels.lanes;
    tiles = (batch.i.extent + kernels.rows[columns > kernels.lanes] - 1) / kernels.rows[columns > kernels.lanes];
    rows = batch.i.extent / tiles, larger = batch.i.extent % tiles;
    int64_t kept = batch.i.extent * batch.j.extent * moving.count;
    bool streams = fixed.count > 1 && kept <= mostKept && rest.count == 1;
    if (streams && apart.count == 1)
      runStreams();
    else if (sharesB && moving.count * fixed.count * batch.l.extent * columns <= mostCopied)
      runShared();
    else if (streams)
      runStreams();
    else
      return false;
    return true;
  }

private:
  /// Outer loops whose steps lie further apart in C than all that moves within one of them; the others are `rest`.
  void splitOuter() {
    for (int32_t loop = 0; loop < batch.outerCount; ++loop) {
      const BatchLoop &outer = batch.outer[loop];
      int64_t reach = moving.reach() + (batch.i.extent - 1) * std::abs(batch.i.c) + batch.j.extent - 1;
      for (int32_t other = 0; other < batch.outerCount; ++other)
        if (other != loop && std::abs(batch.outer[other].c) <= std::abs(outer.c))
          reach += (batch.outer[other].extent - 1) * std::abs(batch.outer[other].c);
      bool isApart = moving.number == 0 || std::abs(outer.c) > reach;
      (isApart ? apart : rest).add(outer);
    }
  }

  /// One panel is two vectors wide, or one where that holds what remains.
  int64_t panelWidth(int64_t column) const { return std::min(2 * kernels.lanes, columns - column); }

  /// Copies columns of B for terms [begin, end) of the sum: panel by panel, filled up with zeros.
  void copyB(const T *b, int64_t begin, int64_t end, T *copy) const {
    int64_t length = batch.l.extent;
    for (int64_t column = 0; column < columns; column += 2 * kernels.lanes) {
      int64_t width = panelWidth(column), given = std::min(width, batch.j.extent - column);
      for (int64_t run = begin; run < end; ++run) {
        const T *from = b + fixed.place(run).b + column * batch.j.b;
        for (int64_t l = 0; l < length; ++l, from += batch.l.b, copy += width) {
          for (int64_t j = 0; j < given; ++j)
            copy[j] = from[j * batch.j.b];
          std::fill(copy + given, copy + width, T(0));
        }
      }
    }
  }

  /// All panels of a band of rows of C. `runs` is for panels two vectors wide, and behind it for those of one.
  void multiplyRows(Tile<T> tile, int64_t band, int64_t terms, bool copied) const {
    int64_t first = band * rows + std::min(band, larger), count = rows + (band < larger);
    const Run *runs = tile.runs;
    const T *a = tile.a + first * batch.i.a, *b = tile.b;
    T *c = tile.c + first * batch.i.c;
    for (int64_t column = 0; column < columns; column += 2 * kernels.lanes) {
      int64_t width = panelWidth(column);
      bool two = width > kernels.lanes;
      tile.a = a;
      tile.b = b + column * (copied ? terms : 1);
      tile.runs = runs + (two ? 0 : tile.runCount);
      tile.bStep = copied ? width : batch.l.b;
      tile.c = c + column;
      tile.columns = std::min(width, batch.j.extent - column);
      // A panel of one vector has more rows than one of two.
      kernels.functions[two][count - 1](tile);
    }
  }

  //===--- B is the same for all parts ---------------------------------------------------------------------------===//

  void runShared() {
    // Neighbouring terms of a sum that lie evenly in A are one run.
    int64_t terms = fixed.count * batch.l.extent;
    length = batch.l.extent;
    runLoops = fixed;
    while (runLoops.number > 0 && runLoops.loops[runLoops.number - 1].a == length * batch.l.a) {
      int64_t extent = runLoops.loops[--runLoops.number].extent;
      length *= extent;
      runLoops.count /= extent;
    }
    copy = static_cast<T *>(pmap_rt_alloc(moving.count * terms * columns * static_cast<int64_t>(sizeof(T))));
    runs = static_cast<Run *>(pmap_rt_alloc(2 * runLoops.count * static_cast<int64_t>(sizeof(Run))));
    moves = static_cast<BatchLoop *>(pmap_rt_alloc(moving.count * static_cast<int64_t>(sizeof(BatchLoop))));
    for (int64_t move = 0; move < moving.count; ++move) {
      moves[move] = moving.place(move);
      copyB(batch.b + moves[move].b, 0, fixed.count, copy + move * terms * columns);
    }
    for (int64_t run = 0; run < runLoops.count; ++run)
      for (int64_t two = 0; two < 2; ++two)
        runs[run + (1 - two) * runLoops.count] = {runLoops.place(run).a, run * length * (1 + two) * kernels.lanes};
    int64_t work = batch.work() * fixed.count;
    if (rest.count > 1 && apart.count < fewParts) {
      for (moveBegin = 0; moveBegin < moving.count; ++moveBegin) {
        moveEnd = moveBegin + 1;
        pmap_rt_parallel_for(&runPlaces, this, apart.count * rest.count, std::max<int64_t>(1, leastWork / 4 / work));
      }
    } else {
      moveBegin = 0, moveEnd = moving.count;
      pmap_rt_parallel_for(&runParts, this, apart.count,
                           std::max<int64_t>(1, leastWork / 4 / (work * rest.count * moving.count)));
    }
    pmap_rt_free(moves);
    pmap_rt_free(runs);
    pmap_rt_free(copy);
  }

  static void runParts(void *closure, int64_t lo, int64_t hi) {
    auto &self = *static_cast<TiledBatch *>(closure);
    runPlaces(closure, lo * self.rest.count, hi * self.rest.count);
  }

  static void runPlaces(void *closure, int64_t lo, int64_t hi) {
    const auto &self = *static_cast<TiledBatch *>(closure);
    const Batch<T> &batch = self.batch;
    int64_t terms = self.fixed.count * batch.l.extent;
    for (int64_t index = lo; index < hi; ++index) {
      BatchLoop part = self.apart.place(index / self.rest.count), at = self.rest.place(index % self.rest.count);
      for (int64_t move = self.moveBegin; move < self.moveEnd; ++move) {
        const BatchLoop &shift = self.moves[move];
        Tile<T> tile{self.runs,
                     self.runLoops.count,
                     self.length,
                     batch.a + part.a + at.a + shift.a,
                     batch.i.a,
                     batch.l.a,
                     self.copy + move * terms * self.columns,
                     0,
                     batch.c + part.c + at.c + shift.c,
                     batch.i.c,
                     0,
                     batch.accumulate};
        for (int64_t band = 0; band < self.tiles; ++band)
          self.multiplyRows(tile, band, terms, /*copied=*/true);
      }
    }
  }

  //===--- Long sums into few places -----------------------------------------------------------------------------===//

  void runStreams() {
    length = batch.l.extent;
    // Columns that fill no vector are copied, so that no vector reads beyond the end of B.
    copiesB = batch.j.b != 1 || columns != batch.j.extent;
    blockRuns = std::min(fixed.count, (blockTerms + length - 1) / length);
    int64_t bands = moving.count * tiles, work = batch.work() * fixed.count / tiles;
    for (int64_t index = 0; index < apart.count && apart.count < fewParts; ++index) {
      part = index;
      // Each piece reads all of A and B: as many as there are threads.
      int64_t pieces = std::min<int64_t>(pmap_rt_threads(), std::max<int64_t>(1, bands * work / (leastWork / 4)));
      pmap_rt_parallel_for(&runBands, this, bands, (bands + pieces - 1) / pieces);
    }
    if (apart.count >= fewParts)
      pmap_rt_parallel_for(&runStreamParts, this, apart.count, std::max<int64_t>(1, leastWork / 4 / (work * bands)));
  }

  static void runStreamParts(void *closure, int64_t lo, int64_t hi) {
    const auto &self = *static_cast<TiledBatch *>(closure);
    for (int64_t part = lo; part < hi; ++part)
      self.streamBands(part, 0, self.moving.count * self.tiles);
  }

  static void runBands(void *closure, int64_t lo, int64_t hi) {
    const auto &self = *static_cast<TiledBatch *>(closure);
    self.streamBands(self.part, lo, hi);
  }

  void streamBands(int64_t part, int64_t lo, int64_t hi) const {
    BatchLoop at = apart.place(part);
    auto *runs = static_cast<Run *>(pmap_rt_alloc(2 * blockRuns * static_cast<int64_t>(sizeof(Run))));
    T *copy = copiesB ? static_cast<T *>(pmap_rt_alloc(blockRuns * length * columns * static_cast<int64_t>(sizeof(T))))
                      : nullptr;
    for (int64_t begin = 0; begin < fixed.count; begin += blockRuns) {
      int64_t end = std::min(begin + blockRuns, fixed.count), count = end - begin, copied = -1;
      for (int64_t run = 0; run < count; ++run) {
        BatchLoop place = fixed.place(begin + run);
        for (int64_t two = 0; two < 2; ++two)
          runs[run + (1 - two) * count] = {place.a, copiesB ? run * length * (1 + two) * kernels.lanes : place.b};
      }
      for (int64_t band = lo; band < hi; ++band) {
        BatchLoop shift = moving.place(band / tiles);
        if (copiesB && copied != shift.b)
          copyB(batch.b + at.b + shift.b, begin, end, copy);
        copied = shift.b;
        Tile<T> tile{runs,
                     count,
                     length,
                     batch.a + at.a + shift.a,
                     batch.i.a,
                     batch.l.a,
                     copiesB ? copy : batch.b + at.b + shift.b,
                     0,
                     batch.c + at.c + shift.c,
                     batch.i.c,
                     0,
                     batch.accumulate || begin > 0};
        multiplyRows(tile, band % tiles, count * length, copiesB);
      }
    }
    pmap_rt_free(copy);
    pmap_rt_free(runs);
  }

  const Batch<T> &batch;
  const TileKernels<T> &kernels;
  /// Of the loops that add up, those that stay at one place of C and those that move there.
  Loops fixed, moving, apart, rest, runLoops;
  /// Columns, whole vectors of them, and bands of rows, of which `larger` have one more than `rows`.
  int64_t columns = 0, tiles = 0, rows = 0, larger = 0;
  int64_t length = 0, blockRuns = 0, moveBegin = 0, moveEnd = 0, part = 0;
  bool copiesB = true;
  T *copy = nullptr;
  Run *runs = nullptr;
  BatchLoop *moves = nullptr;
};

} // namespace

template <> bool multiplyInTiles<float>(const Batch<float> &batch) { return TiledBatch<float>(batch).run(); }
template <> bool multiplyInTiles<double>(const Batch<double> &batch) { return TiledBatch<double>(batch).run(); }

} // namespace pmap::rt
