// Asks a gRPC health service for the status of one service, with the client library that a kubelet uses.
//
// It exists because the answers of the target must be judged by a client that is not ours. It prints one line:
// "status NAME" and exits with 0 for SERVING and 2 for any other status, or "code NAME: message" and exits with 1
// if the call failed. With -watch N it prints one line for each of N statuses of a watch.
package main

import (
	"context"
	"crypto/tls"
	"flag"
	"fmt"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	health "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

func main() {
	address := flag.String("address", "", "host:port to ask")
	service := flag.String("service", "", "the service to ask for")
	timeout := flag.Duration("timeout", 5*time.Second, "the deadline of the call")
	secure := flag.Bool("tls", false, "speak TLS and take any certificate")
	watch := flag.Int("watch", 0, "watch instead of checking, until so many statuses have come")
	flag.Parse()
	os.Exit(ask(*address, *service, *timeout, *secure, *watch))
}

func ask(address, service string, timeout time.Duration, secure bool, watch int) int {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	transport := insecure.NewCredentials()
	if secure {
		transport = credentials.NewTLS(&tls.Config{InsecureSkipVerify: true})
	}
	connection, err := grpc.DialContext(ctx, address, grpc.WithBlock(), grpc.WithTransportCredentials(transport),
		grpc.WithUserAgent("probity-peer/1"))
	if err != nil {
		return failed(err)
	}
	defer connection.Close()
	client := health.NewHealthClient(connection)
	request := &health.HealthCheckRequest{Service: service}
	if watch > 0 {
		return look(ctx, client, request, watch)
	}
	response, err := client.Check(ctx, request)
	if err != nil {
		return failed(err)
	}
	return say(response)
}

func look(ctx context.Context, client health.HealthClient, request *health.HealthCheckRequest, count int) int {
	stream, err := client.Watch(ctx, request)
	if err != nil {
		return failed(err)
	}
	last := 0
	for range make([]struct{}, count) {
		response, err := stream.Recv()
		if err != nil {
			return failed(err)
		}
		last = say(response)
	}
	return last
}

func say(response *health.HealthCheckResponse) int {
	fmt.Println("status", response.GetStatus())
	if response.GetStatus() == health.HealthCheckResponse_SERVING {
		return 0
	}
	return 2
}

func failed(err error) int {
	fmt.Printf("code %s: %s\n", status.Code(err), status.Convert(err).Message())
	return 1
}
