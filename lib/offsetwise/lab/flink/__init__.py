from offsetwise.lab.flink.running import TIMEOUT_S, FlinkFolder, RunningJob, running_job

__all__ = ["TIMEOUT_S", "FlinkFolder", "RunningJob", "running_job"]
