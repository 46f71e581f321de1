// The same collectives by MPI, one process per device: mpicxx -O3 peer_mpi.cpp -o peer && mpirun -n 2 ./peer MIB.
// Prints `operation bytes microseconds`, as collectives-bench --rows does. A size is that of every process's operand.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <mpi.h>
#include <vector>

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  long mib = argc > 1 ? atol(argv[1]) : 256;
  std::vector<float> in(mib << 18, float(rank)), out((mib << 18) * size, 0);
  const char *names[] = {"psum", "all_gather", "psum_scatter", "all_to_all", "ppermute"};
  for (long bytes = 1024; bytes <= mib << 20; bytes *= 4)
    for (int k = 0; k < 5; ++k) {
      int n = int(bytes / 4), part = n / size;
      auto run = [&] {
        if (k == 0)
          MPI_Allreduce(in.data(), out.data(), n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        else if (k == 1)
          MPI_Allgather(in.data(), n, MPI_FLOAT, out.data(), n, MPI_FLOAT, MPI_COMM_WORLD);
        else if (k == 2)
          MPI_Reduce_scatter_block(in.data(), out.data(), part, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        else if (k == 3)
          MPI_Alltoall(in.data(), part, MPI_FLOAT, out.data(), part, MPI_FLOAT, MPI_COMM_WORLD);
        else
          MPI_Sendrecv(in.data(), n, MPI_FLOAT, (rank + 1) % size, 0, out.data(), n, MPI_FLOAT,
                       (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      };
      long repeats = std::max(1L, (256L << 10) / bytes) * (bytes <= 4096 ? 16 : 1);
      std::vector<double> times;
      for (int round = 0; round <= (bytes >= 64 << 20 ? 7 : 21); ++round) {
        MPI_Barrier(MPI_COMM_WORLD);
        double begin = MPI_Wtime();
        for (long i = 0; i < repeats; ++i)
          run();
        double mine = (MPI_Wtime() - begin) / double(repeats), all;
        MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        if (round)
          times.push_back(all);
      }
      std::sort(times.begin(), times.end());
      if (rank == 0)
        printf("%s %ld %.3f\n", names[k], bytes, times[times.size() / 2] * 1e6);
    }
  MPI_Finalize();
}
