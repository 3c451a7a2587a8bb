// Triggers a job by writing a signal, with franz-go.
//
//	go run . localhost:9092 default/hello
//
// The key is tenant/job_id and picks the partition: this client hashes it as Kafka's own does.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kgo"
)

type trigger struct {
	Signal   string         `json:"signal"`
	SignalID string         `json:"signal_id"`
	Payload  map[string]any `json:"payload,omitempty"`
}

func main() {
	if len(os.Args) < 3 {
		log.Fatal("usage: trigger BROKERS TENANT/JOB_ID [PREFIX]")
	}
	brokers, jobKey, prefix := os.Args[1], os.Args[2], "tocsin"
	if len(os.Args) > 3 {
		prefix = os.Args[3]
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(brokers))
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	// The first eight digits of the id end the id of the run.
	value, err := json.Marshal(trigger{
		Signal:   "trigger",
		SignalID: uuid.NewString(),
		Payload:  map[string]any{"greeting": "Grüße"},
	})
	if err != nil {
		log.Fatal(err)
	}
	record := &kgo.Record{Topic: prefix + ".signals", Key: []byte(jobKey), Value: value}
	if err := client.ProduceSync(context.Background(), record).FirstErr(); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s triggered at offset %d\n", jobKey, record.Offset)
}
