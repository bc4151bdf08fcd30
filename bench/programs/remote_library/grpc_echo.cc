/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Messages sent and echoed by gRPC's own library for C++: the counterpart of
 * http2_echo.c, which prints the same line.
 *
 *   grpc_echo DIRECTORY BYTES IN_FLIGHT SECONDS
 */
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <grpcpp/grpcpp.h>

#include "echo.grpc.pb.h"

using Clock = std::chrono::steady_clock;
using warprsa::bench::Batch;
using warprsa::bench::Echo;

static std::string read_file(const std::string &name)
{
    std::ifstream file(name);

    return std::string(std::istreambuf_iterator<char>(file), {});
}

class Service final : public Echo::Service {
    grpc::Status
    Stream(grpc::ServerContext *,
           grpc::ServerReaderWriter<Batch, Batch> *stream) override
    {
        Batch batch;

        while (stream->Read(&batch))
            stream->Write(batch);
        return grpc::Status::OK;
    }
};

/* Sends its port, then serves until its standard input ends. */
static void serve(const std::string &directory, int port_to, int until)
{
    grpc::SslServerCredentialsOptions options(
        GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
    grpc::ServerBuilder builder;
    Service service;
    int port = 0;
    char end;

    options.pem_root_certs = read_file(directory + "/ca.pem");
    options.pem_key_cert_pairs = {{read_file(directory + "/host.key"),
                                   read_file(directory + "/host.pem")}};
    builder.AddListeningPort("127.0.0.1:0",
                             grpc::SslServerCredentials(options), &port);
    builder.RegisterService(&service);
    std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
    if (write(port_to, &port, sizeof(port)) != sizeof(port))
        std::exit(EXIT_FAILURE);
    (void)!read(until, &end, 1);
    server->Shutdown(std::chrono::system_clock::now());
}

/* The times of all messages in microseconds. */
static std::vector<long> use(const std::string &directory, int port,
                             size_t bytes, unsigned in_flight, double seconds)
{
    grpc::SslCredentialsOptions options;
    grpc::ClientContext context;
    std::deque<Clock::time_point> sent;
    std::vector<long> times;
    Batch batch, answer;

    options.pem_root_certs = read_file(directory + "/ca.pem");
    options.pem_private_key = read_file(directory + "/host.key");
    options.pem_cert_chain = read_file(directory + "/host.pem");
    auto stub = Echo::NewStub(
        grpc::CreateChannel("127.0.0.1:" + std::to_string(port),
                            grpc::SslCredentials(options)));
    auto stream = stub->Stream(&context);
    batch.mutable_operations()->resize(bytes);
    const auto end =
        Clock::now() + std::chrono::microseconds((long)(seconds * 1e6));
    for (unsigned i = 0; i < in_flight; i++) {
        sent.push_back(Clock::now());
        stream->Write(batch);
    }
    while (!sent.empty() && stream->Read(&answer)) {
        const auto now = Clock::now();

        times.push_back(
            std::chrono::duration_cast<std::chrono::microseconds>(
                now - sent.front())
                .count());
        sent.pop_front();
        if (now >= end)
            continue;
        sent.push_back(now);
        stream->Write(batch);
    }
    stream->WritesDone();
    return times;
}

static double cpu_us(int who)
{
    struct rusage used;

    getrusage(who, &used);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1e6 +
           (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

int main(int argc, char **argv)
{
    int port_pipe[2], end_pipe[2], port = 0;
    pid_t server;

    if (argc != 5 || pipe(port_pipe) != 0 || pipe(end_pipe) != 0)
        return EXIT_FAILURE;
    server = fork();
    if (server == 0) {
        close(end_pipe[1]);
        serve(argv[1], port_pipe[1], end_pipe[0]);
        return EXIT_SUCCESS;
    }
    close(port_pipe[1]);
    if (read(port_pipe[0], &port, sizeof(port)) != sizeof(port))
        return EXIT_FAILURE;
    const size_t bytes = std::strtoul(argv[2], nullptr, 10);
    const unsigned in_flight = (unsigned)std::strtoul(argv[3], nullptr, 10);
    std::vector<long> times =
        use(argv[1], port, bytes, in_flight, std::strtod(argv[4], nullptr));
    close(end_pipe[1]);
    waitpid(server, nullptr, 0);
    if (times.empty())
        return EXIT_FAILURE;
    std::sort(times.begin(), times.end());
    const double count = (double)times.size();
    std::printf("grpc    %8zu %9u %9zu %9.1f %9.1f %9ld %9ld\n", bytes,
                in_flight, times.size(), cpu_us(RUSAGE_SELF) / count,
                cpu_us(RUSAGE_CHILDREN) / count, times[times.size() / 2],
                times[times.size() * 99 / 100]);
    return EXIT_SUCCESS;
}
