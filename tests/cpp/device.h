// What the tests of the C++ headers stand on: a list of tests that is run, streams and events of
// the simulated driver, and captures.
//
// The functions are defined in device.cc, which alone declares the driver's calls: headers of CUDA
// that a test includes declare them in their own way.
#ifndef STREAMPOOL_TESTS_CPP_DEVICE_H
#define STREAMPOOL_TESTS_CPP_DEVICE_H

#include <initializer_list>
#include <stdexcept>
#include <string>

#include <streampool/streampool.h>

namespace test {

struct named {
    const char *name;
    void (*run)();
};

// Runs the tests with the primary context of device 0 current. A test fails by an exception, or
// when the simulated driver has reported a misuse. Returns main's status.
int run(std::initializer_list<named> tests);

// A non-blocking stream of the current context. The process keeps it, as it keeps events.
CUstream stream();
CUevent event();

// Work that is pending in the stream until something waits for it.
void add_work(CUstream stream);
void finish_work();

// Makes each call of the driver's entry point fail, until it is gone.
class refused_entry {
  public:
    refused_entry(const char *entry, int result);
    ~refused_entry();
    refused_entry(const refused_entry &) = delete;
};

// Lets the stream capture, until it is gone.
class capture {
  public:
    explicit capture(CUstream stream);
    ~capture();
    capture(const capture &) = delete;

  private:
    CUstream stream_;
};

// The calling thread's default stream, and the error of an allocation on stream 0 while it
// captures. On the legacy stream, which programs without per-thread default streams mean by 0, it
// is another one.
CUstream thread_stream();
#if defined(CUDA_API_PER_THREAD_DEFAULT_STREAM)
const poolError_t refused_on_stream_0 = poolErrorStreamCaptureUnsupported;
#else
const poolError_t refused_on_stream_0 = poolErrorStreamCaptureImplicit;
#endif

// A pool on device 0, and what the program has in use of it.
poolMemPool_t make_pool();
uint64_t used(poolMemPool_t pool);

} // namespace test

#define REQUIRE(condition)                                                                         \
    do {                                                                                           \
        if (!(condition))                                                                          \
            throw std::logic_error(std::string(__FILE__) + ":" + std::to_string(__LINE__) +        \
                                   ": this does not hold: " #condition);                           \
    } while (0)

#define TEST(name)                                                                                 \
    test::named {                                                                                  \
#name, name                                                                                \
    }

#endif
